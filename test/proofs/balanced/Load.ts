/** Many sealed sessions that exchange one request after the other, and an account of how every exchange went. */
import { type Fetch, SealedClient, SealgateError } from "../../../src/client/index.ts"
import { ROUTE_HEADER } from "../../../src/domain/protocol/routingTag.ts"

/** How one exchange went. */
export interface Exchange {
  readonly prompt: string
  /** Requests that the client sent before it had an answer or gave up. */
  readonly sent: number
  /** What the client threw; then it was asked once more. */
  readonly error: SealgateError | undefined
  /** Whether a verified answer came in the end, and was the right one. */
  readonly verified: boolean
  /** What was thrown the second time. */
  readonly again: unknown
}

interface Party {
  readonly client: SealedClient
  sent: number
}

export interface LoadOptions {
  readonly url: string
  readonly pins: ReadonlyArray<string>
  /** Whether every exchange has a client of its own. */
  readonly fresh?: boolean
  readonly sessions: number
  readonly rounds: number
  readonly concurrency: number
  /** Called after every exchange with how many are done. */
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

/** Asks, streamed or not, and gives the verified text. */
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
    // Anything but one of the client's own errors is a fault of the client.
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
 * A client whose next requests carry the routes in `detours` in place of their own, or none (`undefined`), and the
 * refusals that this brings.
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
      // What the proxies refuse with before they open anything is a problem document.
      const { code } = (await response.clone().json()) as { readonly code: string }
      refusals.push(`${response.status} ${code}`)
    }
    return response
  }
  return { client: new SealedClient({ baseUrl: url, pins: [pin], fetch }), detours, refusals }
}
