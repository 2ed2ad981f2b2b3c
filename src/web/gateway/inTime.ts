import { Unreachable } from "../../client/errors.ts"

/** Below that of browsers, which wait for minutes. */
const ANSWER_WITHIN_MS = 30_000

/** Reads with a signal that also ends a read that takes too long, so that a gateway that hangs does not go unnoticed. */
export const inTime = async <A>(read: (signal: AbortSignal) => Promise<A>, signal?: AbortSignal): Promise<A> => {
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(new Unreachable("The gateway took too long to answer.")), ANSWER_WITHIN_MS)
  try {
    return await read(signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal]))
  } finally {
    clearTimeout(timer)
  }
}
