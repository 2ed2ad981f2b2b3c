/** Spans of what services do. */
import { Effect, Tracer } from "effect"

/**
 * Runs an effect in a span of its own where spans are exported. Nobody reads others, and each would cost a context, what a
 * fiber keeps of it, and two readings of the clock.
 */
export const spanned =
  (name: string, options?: Tracer.SpanOptionsNoTrace) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(Tracer.Tracer, (tracer) =>
      tracer === Tracer.nativeTracer
        ? effect
        : // The span only adds to what `effect` sees, so what it requires stays what it was.
          (Effect.withSpan(name, options, { captureStackTrace: false })(effect) as typeof effect),
    )
