import { deferred } from "./deferred.ts"

/** Returns `promise`, but rejects when `signal` fires first. */
export const orAbort = <A>(promise: Promise<A>, signal: AbortSignal | undefined): Promise<A> => {
  if (signal === undefined) return promise
  const { promise: aborted, reject } = deferred<never>()
  const abort = () => reject(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener("abort", abort, { once: true })
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener("abort", abort))
}
