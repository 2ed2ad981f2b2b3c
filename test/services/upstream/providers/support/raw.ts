/** Providers in front of a socket that sends the bytes of a test. */
import { Effect, Redacted, Stream } from "effect"
import type { OutgoingHttpHeaders } from "node:http"
import type { ChatCompletion, ChatRequest } from "../../../../../src/domain/chat/chat.ts"
import { accumulate } from "../../../../../src/domain/chat/chatStream.ts"
import type { ProviderFailure } from "../../../../../src/services/upstream/Provider.ts"
import type { Limits } from "../../../../../src/services/upstream/providers/shared/Limits.ts"
import type { Vendor } from "./Canned.ts"
import { live, serve } from "./LiveServer.ts"

export interface Raw {
  readonly status?: number
  readonly headers?: OutgoingHttpHeaders
  /** Pieces that are written one by one. */
  readonly body: string | Uint8Array | ReadonlyArray<string | Uint8Array>
  readonly limits?: Partial<Limits>
}

/** How a caller asks: for a whole answer, or for a stream. */
export const MODES = ["complete", "stream"] as const
export type Mode = (typeof MODES)[number]

export const REQUEST: ChatRequest = { messages: [{ role: "user", content: "hi" }] }

/** The answer of a provider of `vendor` whose server sends `raw`; a stream's pieces are joined. */
export const answered = Effect.fnUntraced(function* (vendor: Vendor, raw: Raw, mode: Mode = "stream") {
  const pieces = typeof raw.body === "string" || raw.body instanceof Uint8Array ? [raw.body] : raw.body
  const server = yield* serve((_, response) => {
    response.writeHead(raw.status ?? 200, raw.headers)
    const next = (at: number) => {
      const piece = pieces[at]
      if (piece === undefined) response.end()
      // Each piece is a separate packet.
      else response.write(piece, () => setImmediate(next, at + 1))
    }
    next(0)
  })
  const provider = yield* live(vendor, server.url, raw.limits)
  if (mode === "complete") return yield* provider.complete(REQUEST)
  return accumulate(yield* Stream.runCollect(provider.stream(REQUEST)))
}, Effect.scoped)

/** An event stream of JSON values, or of texts as they are. */
export const sse = (...events: ReadonlyArray<unknown>): string =>
  events.map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`).join("")

/** Describes the first choice in one line: its text, its calls and its finish reason. */
export const gistOf = ({ choices: [choice] }: ChatCompletion): string => {
  const calls = (choice?.message.tool_calls ?? []).map(
    ({ id, function: { name, arguments: args } }) => `${id}:${name}${args}`,
  )
  const text = typeof choice?.message.content === "string" ? [choice.message.content] : []
  return [...text, ...calls, choice?.finish_reason].join(" ")
}

/** A failure in one line: its kind and what it says. */
export const failureOf = ({ detail, kind }: ProviderFailure): string =>
  detail === undefined ? kind : `${kind}: ${Redacted.value(detail)}`
