/** Reads response bodies up to a limit, and interprets them by content instead of by what was requested. */
import { Effect, type Scope } from "effect"
import type { ProviderFailure, StreamWatch } from "../../Provider.ts"
import type { NextPiece, Pieces, ProviderResponse } from "../../HttpExchange.ts"
import { answerJson } from "./answerJson.ts"
import { decodedBytes } from "./ContentCoding.ts"
import { failure, garbage } from "../shared/providerFailures.ts"
import { retryAfterNow } from "./RetryAfter.ts"

/** A JSON value, or the text of an event stream. Servers may send the first where a stream was asked for. */
export type Body = JsonBody | EventsBody

export interface EventsBody extends Pick<ProviderResponse, "hasEnded"> {
  readonly _tag: "Events"
  readonly texts: Texts
}

export interface JsonBody {
  readonly _tag: "Json"
  readonly text: string
  readonly value: unknown
  /** The pause that the headers ask for. */
  readonly retryAfterMs: number | undefined
}

export type Texts = NextPiece<string, ProviderFailure>

/** The largest answer in bytes, and the failure for a larger one. */
export interface AnswerLimit {
  readonly bytes: number
  readonly exceeded: (reason: string) => ProviderFailure
}

/** Opens the body of `response`, which is read up to `limit`. */
export const openBody = Effect.fnUntraced(function* (
  response: ProviderResponse,
  limit: AnswerLimit,
  watch?: StreamWatch,
): Effect.fn.Return<Body, ProviderFailure, Scope.Scope> {
  const type = response.headers["content-type"] ?? ""
  if (PAGE_TYPE.test(type)) {
    // An API never answers with a page: the base URL is that of a website.
    const reason = "an answer of type text/html"
    return yield* failure("garbage", `an answer of type ${type}`, { reason, lasting: true })
  }
  const texts = yield* textsOf(response, limit, watch)
  let head = ""
  let form = formOf(head, type)
  while (form === "open") {
    const more = yield* texts
    head = (head + (more ?? "")).trimStart()
    form = formOf(head, type)
    if (more === undefined && form === "open") form = EVENT_STREAM_TYPE.test(type) ? "events" : "neither"
  }
  if (form === "events") return { _tag: "Events", texts: preceded(head, texts), hasEnded: response.hasEnded }
  if (form === "neither") {
    const named = type === "" ? "without a type" : `of type ${type}`
    const fault = "that is neither a JSON object nor an event stream"
    return yield* garbage(`an answer ${fault}`, `an answer ${named} ${fault}`)
  }
  const pieces = [head]
  for (let more = yield* texts; more !== undefined; more = yield* texts) pieces.push(more)
  const text = pieces.join("")
  const value = answerJson(text)
  if (value === undefined) return yield* garbage("the answer is not JSON")
  return { _tag: "Json", text, value, retryAfterMs: yield* retryAfterNow(response.headers) }
})

export const PAGE_TYPE = /^text\/html\b/i
const EVENT_STREAM_TYPE = /^text\/event-stream\b/i

/** Beginnings of lines of an event stream. */
const FIELDS = ["data:", "event:", "id:", "retry:", ":"]

/** Returns the kind of a body that begins with `head`. The content type decides if the beginning is ambiguous. */
const formOf = (head: string, type: string): "open" | "json" | "events" | "neither" => {
  if (head === "") return "open"
  if (head.startsWith("{") || head.startsWith("[")) return "json"
  if (EVENT_STREAM_TYPE.test(type) || FIELDS.some((field) => head.startsWith(field))) return "events"
  return FIELDS.some((field) => field.startsWith(head)) ? "open" : "neither"
}

const textsOf = (
  response: ProviderResponse,
  { bytes: most, exceeded }: AnswerLimit,
  watch: StreamWatch | undefined,
): Effect.Effect<Texts, never, Scope.Scope> =>
  Effect.map(decodedBytes(response), (bytes): Texts => {
    const decoder = new TextDecoder()
    let length = 0
    const textIn = (pieces: Pieces | undefined): Texts => {
      if (pieces === undefined) return Effect.undefined
      watch?.alive()
      let text = ""
      for (const piece of pieces) {
        length += piece.length
        text += decoder.decode(piece, { stream: true })
      }
      return length > most ? Effect.fail(exceeded(`an answer of more than ${most} bytes`)) : Effect.succeed(text)
    }
    return Effect.flatMap(bytes, textIn)
  })

const preceded = (head: string, texts: Texts): Texts => {
  let first: string | undefined = head
  return Effect.suspend(() => {
    if (first === undefined) return texts
    const piece = first
    first = undefined
    return Effect.succeed(piece)
  })
}

/** Reads what arrives of a body within `limit` bytes: for error bodies, where the status is enough. */
export const someText: (response: ProviderResponse, limit: number) => Effect.Effect<string, never, Scope.Scope> =
  Effect.fnUntraced(
    function* (response, limit) {
      const bytes = yield* decodedBytes(response)
      const decoder = new TextDecoder()
      let text = ""
      let length = 0
      for (let pieces = yield* bytes; pieces !== undefined; pieces = yield* bytes) {
        for (const piece of pieces) {
          length += piece.length
          if (length > limit) return text
          text += decoder.decode(piece, { stream: true })
        }
      }
      return text + decoder.decode()
    },
    Effect.orElseSucceed(() => ""),
  )
