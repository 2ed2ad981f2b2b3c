/** Checks the messages of an MCP server before the library, which parses and decodes each in one go, gets them. */
import { Effect, Stream } from "effect"
import { Sse } from "effect/encoding"
import { HttpClient, type HttpClientResponse } from "effect/http"
import { utf8 } from "../../domain/bytes/bytes.ts"
import { CLIENT_LIMITS, faultSteps, NOT_JSON } from "../../domain/json/iJson.ts"
import { inSteps } from "../inSteps.ts"
import { readBody } from "../readBody.ts"

/** More than a list of 64 tools or a result of 64 KiB contains. Decoding this many values takes about 0.1 s. */
const LIMITS = { ...CLIENT_LIMITS, values: 8192 }
/** More than a call's notices take. Reading without end would slow other requests down. */
const MAX_EVENT_BYTES = 16 * 1024 * 1024

/** The client, with bodies that end before a message above the limits. `refuse` gets the reason. */
export const withCheckedMessages = (
  client: HttpClient.HttpClient,
  { maxBytes, refuse }: { readonly maxBytes: number; readonly refuse: (why: string) => void },
): HttpClient.HttpClient => {
  const isRefused = Effect.fnUntraced(function* (message: string) {
    const fault = yield* inSteps(faultSteps(utf8(message), LIMITS))
    // Text that is not JSON is left to the library, which reports it.
    if (fault === undefined || fault === NOT_JSON) return false
    refuse(`a message that is not read. ${fault}`)
    return true
  })

  const ofBody = (response: HttpClientResponse.HttpClientResponse) =>
    Stream.unwrap(
      Effect.gen(function* () {
        const bytes = yield* readBody(response, maxBytes)
        // The library reports a message that is too long.
        const isPassed = bytes.length > maxBytes || !(yield* isRefused(new TextDecoder().decode(bytes)))
        return isPassed ? Stream.make<[Uint8Array]>(bytes) : Stream.empty
      }),
    )

  const ofEvents = ({ stream }: HttpClientResponse.HttpClientResponse) => {
    const decoder = new TextDecoder()
    const messages: Array<string> = []
    let bytes = 0
    const parser = Sse.makeParser((event) => event._tag === "Event" && messages.push(event.data), {
      maxEventSize: maxBytes,
    })
    return Stream.takeWhileEffect(
      stream,
      Effect.fnUntraced(function* (chunk) {
        bytes += chunk.length
        if (bytes > MAX_EVENT_BYTES) {
          refuse(`more than ${MAX_EVENT_BYTES} bytes of events`)
          return false
        }
        parser.feed(decoder.decode(chunk, { stream: true }))
        for (const message of messages.splice(0)) if (yield* isRefused(message)) return false
        return true
      }),
    )
  }

  return HttpClient.transformResponse(
    client,
    Effect.map((response) => {
      const isEvents = /^\s*text\/event-stream\b/i.test(response.headers["content-type"] ?? "")
      const stream = isEvents ? ofEvents(response) : ofBody(response)
      return new Proxy(response, { get: (target, name) => (name === "stream" ? stream : Reflect.get(target, name)) })
    }),
  )
}
