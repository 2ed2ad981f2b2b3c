/** Spans of what services do. */
import { Effect, type Fiber, Tracer } from "effect"

/**
 * Runs an effect in a span of its own where spans are exported. Nobody reads others, and each would cost a context, what a
 * fiber keeps of it, and two readings of the clock.
 */
export const spanned =
  (name: string, options?: Tracer.SpanOptionsNoTrace) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withFiber((fiber) =>
      isExported(fiber)
        ? // The span only adds to what `effect` sees, so what it requires stays what it was.
          (Effect.withSpan(name, options, { captureStackTrace: false })(effect) as typeof effect)
        : effect,
    )

/** Runs an effect after the span around it has these attributes, where spans are exported. */
export const annotatedFirst = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  attributes: () => Readonly<Record<string, unknown>>,
): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) =>
    isExported(fiber) ? Effect.andThen(Effect.annotateCurrentSpan(attributes()), effect) : effect,
  )

const isExported = (fiber: Fiber.Fiber<unknown, unknown>): boolean =>
  fiber.getRef(Tracer.Tracer) !== Tracer.nativeTracer
