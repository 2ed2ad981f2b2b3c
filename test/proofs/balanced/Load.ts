/** Runs many sealed sessions with sequential exchanges, and records each outcome. */
import { type Fetch, SealedClient, SealgateError } from "../../../src/client/index.ts"
import { ROUTE_HEADER } from "../../../src/domain/protocol/routingTag.ts"

/** The outcome of one exchange. */
export interface Exchange {
  readonly prompt: string
  /** Requests that the client sent until an answer or an error. */
  readonly sent: number
  /** The first error, after which the exchange was tried once more. */
  readonly error: SealgateError | undefined
  /** True if the final answer was verified and correct. */
  readonly verified: boolean
  /** The second error. */
  readonly again: unknown
}

interface Party {
  readonly client: SealedClient
  sent: number
}

export interface LoadOptions {
  readonly url: string
  readonly pins: ReadonlyArray<string>
  /** True for a new client per exchange. */
  readonly fresh?: boolean
  readonly sessions: number
  readonly rounds: number
  readonly concurrency: number
  /** Called after every exchange with their number so far. */
  readonly onProgress: (done: number) => void
}

const party = ({ pins, url }: LoadOptions): Party => {
  const counted: Party = {
    sent: 0,
    client: new SealedClient({
      baseUrl: url,
      pins,
      fetch: (url, init) => {
        if (url.endsWith("/v1/completions")) counted.sent++
        return globalThis.fetch(url, init)
      },
    }),
  }
  return counted
}

/** Sends a prompt, streamed or not, and returns the verified text. */
const ask = async (client: SealedClient, prompt: string, streamed: boolean): Promise<string> => {
  if (streamed) return (await client.stream({ prompt })).text()
  const { completion } = await client.complete({ prompt })
  return String(completion.choices[0]?.message.content)
}

const exchange = async (party: Party, prompt: string, streamed: boolean): Promise<Exchange> => {
  party.sent = 0
  let error: SealgateError | undefined
  try {
    const verified = (await ask(party.client, prompt, streamed)) === prompt
    return { prompt, sent: party.sent, error, verified, again: undefined }
  } catch (thrown) {
    // Errors of other classes are bugs of the client.
    if (!(thrown instanceof SealgateError)) throw thrown
    error = thrown
  }
  const { sent } = party
  try {
    return { prompt, sent, error, verified: (await ask(party.client, prompt, streamed)) === prompt, again: undefined }
  } catch (again) {
    return { prompt, sent, error, verified: false, again }
  }
}

/** Runs `sessions × rounds` exchanges, every other one streamed; a session has one exchange under way at a time. */
export const runLoad = async (options: LoadOptions): Promise<ReadonlyArray<Exchange>> => {
  const exchanges: Array<Exchange> = []
  const parties = Array.from({ length: options.sessions }, () => party(options))
  const work = async (worker: number) => {
    for (let round = 0; round < options.rounds; round++) {
      for (let index = worker; index < parties.length; index += options.concurrency) {
        const own = options.fresh === true ? party(options) : parties[index]
        if (own === undefined) continue
        exchanges.push(await exchange(own, `session ${index} round ${round}`, (index + round) % 2 === 0))
        options.onProgress(exchanges.length)
      }
    }
  }
  await Promise.all(Array.from({ length: options.concurrency }, (_, worker) => work(worker)))
  return exchanges
}

/**
 * A client whose next requests carry the routes in `detours`, or none (`undefined`), instead of their real one, and the
 * resulting refusals.
 */
export const wanderer = (url: string, pin: string) => {
  const detours: Array<string | undefined> = []
  const refusals: Array<string> = []
  const fetch: Fetch = async (url, init) => {
    const headers = new Headers(init.headers)
    if (headers.has(ROUTE_HEADER) && detours.length > 0) {
      const route = detours.shift()
      if (route === undefined) headers.delete(ROUTE_HEADER)
      else headers.set(ROUTE_HEADER, route)
    }
    const response = await globalThis.fetch(url, { ...init, headers })
    if (!response.ok) {
      // Refusals before opening are problem documents.
      const { code } = (await response.clone().json()) as { readonly code: string }
      refusals.push(`${response.status} ${code}`)
    }
    return response
  }
  return { client: new SealedClient({ baseUrl: url, pins: [pin], fetch }), detours, refusals }
}
