import { Unreachable } from "../../client/errors.ts"

/** Below that of browsers, which wait for minutes. */
const ANSWER_WITHIN_MS = 30_000

/**
 * Asks with a signal that also ends what takes too long, so that a gateway that hangs does not go unnoticed. Rejects then, even
 * if `ask` ignores the signal, as what changes something does: it may have been done.
 */
export const inTime = async <A>(ask: (signal: AbortSignal) => Promise<A>, signal?: AbortSignal): Promise<A> => {
  const limit = new AbortController()
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const error = new Unreachable("The gateway took too long to answer.")
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
