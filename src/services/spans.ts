/** Spans of services. */
import { Effect, type Fiber, Tracer } from "effect"

/** Runs an effect in a span if spans are exported; otherwise it avoids the cost of the span. */
export const spanned =
  (name: string, options?: Tracer.SpanOptionsNoTrace) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.withFiber((fiber) =>
      isExported(fiber)
        ? // A span adds no requirement.
          (Effect.withSpan(name, options, { captureStackTrace: false })(effect) as typeof effect)
        : effect,
    )

const isExported = (fiber: Fiber.Fiber<unknown, unknown>): boolean =>
  fiber.getRef(Tracer.Tracer) !== Tracer.nativeTracer
