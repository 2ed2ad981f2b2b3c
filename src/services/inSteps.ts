import { Effect } from "effect"

/** Runs `steps` to the end and yields after each, so that a large body does not block other requests. */
export const inSteps = <A>(steps: Generator<void, A>): Effect.Effect<A> => {
  const next: Effect.Effect<A> = Effect.suspend(() => {
    const step = steps.next()
    return step.done === true ? Effect.succeed(step.value) : Effect.andThen(Effect.yieldNow, next)
  })
  return next
}
