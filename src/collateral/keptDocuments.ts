/** Keeps vendors' documents in memory, so that an outage of a service does not end all proofs. Verifiers check them each time. */
import { EvidenceFailure, must } from "../attestation/failure.ts"
import type { Bytes } from "../domain/bytes/bytes.ts"
import type { Got } from "./boundedGet.ts"

/** Documents of one source. One proxy needs four at most. */
const MAX_KEPT = 64

/** In milliseconds. Older revocation lists miss too much, even unexpired ones: AMD's are valid for a year. */
const MAX_AGE_MS = 24 * 3_600_000

const DER_SEQUENCE = 0x30

/** Gets at most `limit` bytes. `read` throws `collateral-unavailable` if the answer is of another kind; then it is not kept. */
type Ask = <A>(url: string, limit: number, read: (got: Got) => A) => Promise<A>

export interface Documents {
  /** For documents that never change: asks once, and again after `forget`. */
  readonly immutable: Ask
  /** Asks each time, and returns the last answer for 24 hours if the service is unavailable. */
  readonly latest: Ask
}

/** Certificate or revocation list. */
export const derIn = ({ body }: Got): Bytes => {
  must(
    body[0] === DER_SEQUENCE,
    "collateral-unavailable",
    "A vendor's service answered with something that is not DER.",
  )
  return body
}

const isUnavailable = (error: unknown): boolean =>
  error instanceof EvidenceFailure && error.code === "collateral-unavailable"

interface Kept {
  readonly got: Got
  /** When it was fetched. */
  readonly at: number
}

/**
 * Returns `documents`, which makes readers of documents, and `forget`, which drops a kept document. All readers share the
 * kept ones. A reader fetches with `get` until `signal` aborts.
 *
 * @param clock milliseconds
 */
export const keptDocuments = (clock: () => number) => {
  /** By URL, the least recently used first. */
  const kept = new Map<string, Kept>()
  const keep = (url: string, document: Kept): void => {
    kept.delete(url)
    kept.set(url, document)
    const [oldest] = kept.keys()
    if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest)
  }
  /** If the clock was set back, the age is unknown. */
  const isYoung = ({ at }: Kept): boolean => clock() >= at && clock() - at <= MAX_AGE_MS
  const documents = (get: (url: string, limit: number) => Promise<Got>, signal: AbortSignal | undefined): Documents => {
    const fetched = async (url: string, limit: number): Promise<Kept> => ({ got: await get(url, limit), at: clock() })
    const read = <A>(url: string, document: Kept, by: (got: Got) => A): A => {
      const value = by(document.got)
      keep(url, document)
      return value
    }
    return {
      immutable: async (url, limit, by) => read(url, kept.get(url) ?? (await fetched(url, limit)), by),
      latest: async (url, limit, by) => {
        try {
          return read(url, await fetched(url, limit), by)
        } catch (error) {
          const last = kept.get(url)
          if (last === undefined || !isYoung(last) || signal?.aborted === true || !isUnavailable(error)) throw error
          return read(url, last, by)
        }
      },
    }
  }
  return { documents, forget: (url: string): void => void kept.delete(url) }
}
