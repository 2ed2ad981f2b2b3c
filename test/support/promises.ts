/** Errors and items of the promises that clients and SDKs return. */
import { Effect } from "effect"

/** Returns the error of `promise`, which must not succeed. */
export const failureOf = async (promise: PromiseLike<unknown>): Promise<unknown> => {
  const [outcome] = await Promise.allSettled([promise])
  if (outcome.status === "rejected") return outcome.reason
  throw new Error(`should have failed, but gave ${JSON.stringify(outcome.value)}`)
}

/** {@link failureOf} as an effect. */
export const failing = (promise: PromiseLike<unknown>): Effect.Effect<unknown> =>
  Effect.promise(() => failureOf(promise))

/** All items of a stream. */
export const collected = <A>(
  items: AsyncIterable<A> | PromiseLike<AsyncIterable<A>>,
): Effect.Effect<ReadonlyArray<A>> => Effect.promise(async () => Array.fromAsync(await items))
