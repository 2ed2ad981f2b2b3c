/** Records the traffic as an eavesdropper sees it: requests, answers and stream events. */
import type { Fetch } from "../../client/sealed/SealedClient.ts"
import { type ServerSentEvent, serverSentEvents } from "../../client/sealed/serverSentEvents.ts"
import { encodeBase64Url } from "../../domain/bytes/bytes.ts"
import { type Intrusion, passFrame, passInit, passOffer } from "./intruder.ts"

/** A message on the wire, as text. */
export interface Crossing {
  readonly direction: "out" | "in"
  readonly path: string
  readonly text: string
  readonly status?: number
  readonly event?: string
  /** Time in milliseconds, on a monotonic clock. */
  readonly at: number
}

export interface Tap {
  readonly intrusion: Intrusion
  readonly record: (crossing: Crossing) => void
}

const KEY_BYTES = 32

/** 32 random bytes in base64url. */
const someKey = (): string => encodeBase64Url(crypto.getRandomValues(new Uint8Array(KEY_BYTES)))

async function* pass(events: AsyncIterable<ServerSentEvent>, intrusion: Intrusion): AsyncGenerator<ServerSentEvent> {
  let frame = 0
  for await (const event of events) {
    const passing = event.event === "frame" ? passFrame(intrusion, event, frame++) : [event]
    if (passing === undefined) return
    yield* passing
  }
}

const streamOf = (events: AsyncGenerator<ServerSentEvent>): ReadableStream<Uint8Array> => {
  const encoder = new TextEncoder()
  return new ReadableStream({
    pull: async (controller) => {
      const { done, value } = await events.next()
      if (done === true) controller.close()
      else controller.enqueue(encoder.encode(`event: ${value.event}\ndata: ${value.data}\n\n`))
    },
    cancel: async () => void (await events.return(undefined)),
  })
}

async function* recordedAs(
  events: AsyncIterable<ServerSentEvent>,
  record: (event: ServerSentEvent) => void,
): AsyncGenerator<ServerSentEvent> {
  for await (const event of events) {
    record(event)
    yield event
  }
}

/** Wraps `fetch` so that its traffic passes the current `tap`. */
export const tapped =
  (tap: () => Tap): Fetch =>
  async (url, init) => {
    const { record, intrusion } = tap()
    const path = new URL(url).pathname
    const asked = typeof init.body === "string" ? init.body : ""
    const sent = path.endsWith("/init") ? passInit(intrusion, asked) : asked
    record({ direction: "out", path, text: sent, at: performance.now() })
    const response = await fetch(url, sent === asked ? init : { ...init, body: sent })
    const { headers, status } = response
    if (headers.get("content-type")?.startsWith("text/event-stream") === true && response.body !== null) {
      const events = recordedAs(pass(serverSentEvents(response.body), intrusion), ({ data, event }) =>
        record({ direction: "in", path, status, event, text: data, at: performance.now() }),
      )
      return new Response(streamOf(events), { status, headers })
    }
    const text = passOffer(intrusion, await response.text(), someKey())
    record({ direction: "in", path, status, text, at: performance.now() })
    return new Response(text, { status, headers })
  }
