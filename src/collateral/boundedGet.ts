/** GET requests to the vendors' services, with limits. */
import { setTimeout } from "node:timers/promises"
import { EvidenceFailure } from "../attestation/failure.ts"
import { type Bytes, withPiece } from "../domain/bytes/bytes.ts"

/** Time for one answer, in milliseconds. */
const PATIENCE_MS = 15_000

/** Requests for one document, of which all but the last were answered with 429. */
const MAX_TRIES = 3
/** Pause after a 429 without `Retry-After`. AMD hands out a certificate every 10 s. */
const PAUSE_MS = 10_000
/** Longest pause that a service may ask for. */
const MAX_PAUSE_MS = 15_000

/** The part of `fetch` that is used. */
export type Get = (
  url: string,
  options: { readonly redirect: "manual"; readonly signal: AbortSignal },
) => Promise<Response>

export interface Got {
  readonly body: Bytes
  readonly headers: Headers
}

const unavailable = (url: string, problem: string, advice: string) => {
  const { host, pathname } = new URL(url)
  return new EvidenceFailure("collateral-unavailable", `${host}${pathname} ${problem}. ${advice}`)
}

/** Reads at most `limit` bytes; `undefined` if there are more. */
const readBody = async (response: Response, limit: number): Promise<Bytes | undefined> => {
  let bytes: Bytes = new Uint8Array()
  let length = 0
  for await (const part of response.body ?? []) {
    // Leaving the loop cancels the body.
    if (length + part.length > limit) return undefined
    bytes = withPiece(bytes, length, part)
    length += part.length
  }
  return bytes.subarray(0, length)
}

const requested = async (get: Get, url: string, signal: AbortSignal): Promise<Response> => {
  try {
    return await get(url, { redirect: "manual", signal })
  } catch {
    throw unavailable(url, "cannot be reached", "Allow HTTPS to it, or try again later.")
  }
}

const received = async (response: Response, url: string, limit: number): Promise<Bytes> => {
  const read = await readBody(response, limit).catch(() => {
    throw unavailable(url, "broke off its answer", "Try again later.")
  })
  if (read === undefined) throw unavailable(url, `answered with more than ${limit} bytes`, "Report it to the vendor.")
  return read
}

const pauseOf = ({ headers }: Response): number => {
  const seconds = Number(headers.get("retry-after") ?? Number.NaN)
  return seconds >= 0 ? seconds * 1000 : PAUSE_MS
}

/**
 * Gets at most `limit` bytes over HTTPS, without redirects, and waits if the service limits requests. Rejects with
 * `collateral-unavailable`.
 */
export const boundedGet =
  (get: Get, signal: AbortSignal | undefined) =>
  async (url: string, limit: number): Promise<Got> => {
    for (let tries = 1; ; tries++) {
      const timed = AbortSignal.any([AbortSignal.timeout(PATIENCE_MS), ...(signal === undefined ? [] : [signal])])
      const response = await requested(get, url, timed)
      if (response.status === 200) return { body: await received(response, url, limit), headers: response.headers }
      await response.body?.cancel()
      const pause = response.status === 429 ? pauseOf(response) : undefined
      if (pause === undefined) throw unavailable(url, `answered with status ${response.status}`, "Try again later.")
      if (tries === MAX_TRIES || pause > MAX_PAUSE_MS) {
        const seconds = Math.max(60, Math.ceil(pause / 1000))
        throw unavailable(url, "answered with status 429", `It limits requests; try again in ${seconds} s.`)
      }
      await setTimeout(pause, undefined, signal && { signal }).catch(() => {
        throw unavailable(url, "limits requests", "The wait for it was aborted.")
      })
    }
  }
