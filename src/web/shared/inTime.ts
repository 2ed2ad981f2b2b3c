import { Unreachable } from "../../client/errors.ts"

/** Shorter than the time limit of browsers, which is minutes. */
const ANSWER_WITHIN_MS = 30_000

/**
 * Asks with a signal that also aborts a request that takes too long, so that a hanging server is noticed. Rejects
 * then, even if `ask` ignores the signal, as requests that change something do: the change may have been made.
 */
export const inTime = async <A>(ask: (signal: AbortSignal) => Promise<A>, signal?: AbortSignal): Promise<A> => {
  const limit = new AbortController()
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const error = new Unreachable("The server took too long to answer.")
    limit.abort(error)
    reject(error)
  }, ANSWER_WITHIN_MS)
  try {
    return await Promise.race([
      ask(signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal])),
      late,
    ])
  } finally {
    clearTimeout(timer)
  }
}
