/** The built-in provider in the vendors' own APIs: it repeats the last text, so that the first hour needs no key. */
import { Clock, Effect, Random, Stream } from "effect"
import { type ApiName, isApiName } from "../../../../domain/upstream/apis.ts"
import { isObject, type JsonObject } from "../../../../domain/json/json.ts"
import { iJsonOf } from "../../../../domain/json/surrogates.ts"
import { inTurns } from "../../../inTurns.ts"
import { READINGS } from "../../answerReaders/readings.ts"
import type { NativeApis, NativeCall } from "../../Provider.ts"
import { countTokens, textOf, words } from "./echoText.ts"

/** The text to repeat, with the members that every API has. */
interface Said {
  readonly id: string
  /** Seconds since the epoch. */
  readonly created: number
  readonly model: string
  readonly text: string
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number }
}

const textIn = (item: unknown): string => textOf(isObject(item) ? item["content"] : item)

const listen = Effect.fnUntraced(function* ({ body, model }: NativeCall) {
  const items = body.value("messages") ?? body.value("input")
  const texts = (Array.isArray(items) ? items : [items]).map(textIn)
  const text = texts.at(-1) ?? ""
  const said: Said = {
    id: `msg_echo_${(yield* Random.nextIntBetween(0, Number.MAX_SAFE_INTEGER)).toString(36)}`,
    created: Math.floor((yield* Clock.currentTimeMillis) / 1000),
    model,
    text,
    usage: { input_tokens: countTokens(texts.join(" ")), output_tokens: countTokens(text) },
  }
  return said
})

const messageOf = ({ id, model, text, usage }: Said) => ({
  id,
  type: "message",
  role: "assistant",
  model,
  content: [{ type: "text", text }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage,
})

const messageEvents = (said: Said): ReadonlyArray<JsonObject> => [
  { type: "message_start", message: { ...messageOf(said), content: [], stop_reason: null } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  ...words(said.text).map((text) => ({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })),
  { type: "content_block_stop", index: 0 },
  {
    type: "message_delta",
    delta: { stop_reason: "end_turn", stop_sequence: null },
    usage: { output_tokens: said.usage.output_tokens },
  },
  { type: "message_stop" },
]

const partOf = (text: string) => ({ type: "output_text", text, annotations: [] })

/** The response's only item: empty while it is in progress. */
const itemOf = ({ id, text }: Said, status: "in_progress" | "completed") => ({
  id,
  type: "message",
  role: "assistant",
  status,
  content: status === "completed" ? [partOf(text)] : [],
})

const responseOf = (said: Said, status: "in_progress" | "completed") => ({
  id: said.id.replace("msg", "resp"),
  object: "response",
  created_at: said.created,
  status,
  error: null,
  incomplete_details: null,
  model: said.model,
  output: status === "completed" ? [itemOf(said, status)] : [],
  usage:
    status === "completed"
      ? {
          ...said.usage,
          input_tokens_details: { cached_tokens: 0 },
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: said.usage.input_tokens + said.usage.output_tokens,
        }
      : null,
})

const responseEvents = (said: Said): ReadonlyArray<JsonObject> => {
  const place = { item_id: said.id, output_index: 0, content_index: 0 }
  const events: ReadonlyArray<JsonObject> = [
    { type: "response.created", response: responseOf(said, "in_progress") },
    { type: "response.in_progress", response: responseOf(said, "in_progress") },
    { type: "response.output_item.added", output_index: 0, item: itemOf(said, "in_progress") },
    { type: "response.content_part.added", ...place, part: partOf("") },
    ...words(said.text).map((delta) => ({ type: "response.output_text.delta", ...place, delta, logprobs: [] })),
    { type: "response.output_text.done", ...place, text: said.text, logprobs: [] },
    { type: "response.content_part.done", ...place, part: partOf(said.text) },
    { type: "response.output_item.done", output_index: 0, item: itemOf(said, "completed") },
    { type: "response.completed", response: responseOf(said, "completed") },
  ]
  return events.map((event, sequence_number) => ({ ...event, sequence_number }))
}

const WHOLE = {
  messages: messageOf,
  "messages.count_tokens": ({ usage: { input_tokens } }: Said) => ({ input_tokens }),
  responses: (said: Said) => responseOf(said, "completed"),
}

const isSpoken = (api: ApiName): api is keyof typeof WHOLE => Object.hasOwn(WHOLE, api)

export const nativeEcho: NativeApis = {
  names: new Set(Object.keys(WHOLE).filter(isApiName)),
  complete: Effect.fnUntraced(function* ({ api, ...call }) {
    if (!isSpoken(api)) return yield* Effect.die(new Error(`The echo does not speak ${api}.`))
    const answer = WHOLE[api](yield* listen({ api, ...call }))
    const said = yield* Effect.fromResult(READINGS[api].whole(answer, call))
    return { json: iJsonOf(answer), said }
  }),
  stream: (call) =>
    Stream.unwrap(
      Effect.map(listen(call), (said) => inTurns(call.api === "messages" ? messageEvents(said) : responseEvents(said))),
    ),
}
