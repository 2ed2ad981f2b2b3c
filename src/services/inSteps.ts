import { Effect } from "effect"

/**
 * Runs `steps` to their end, and serves others after each: what takes long for a large body would hold up everybody. A body
 * that takes one step is done at once.
 */
export const inSteps = <A>(steps: Generator<void, A>): Effect.Effect<A> => {
  const next: Effect.Effect<A> = Effect.suspend(() => {
    const step = steps.next()
    return step.done === true ? Effect.succeed(step.value) : Effect.andThen(Effect.yieldNow, next)
  })
  return next
}
