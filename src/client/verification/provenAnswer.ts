/** Reads the facts of a revealed answer that its receipt also states, for any API. */
import { CHAT_COMPLETIONS } from "../../domain/upstream/apis.ts"
import type { ChatChunk, ChatCompletion } from "../../domain/chat/chatTypes.ts"
import { accumulate, UNFINISHED } from "../../domain/chat/chatStream.ts"
import type { ReceiptClaims } from "../../domain/protocol/statement.ts"
import { isObject, type JsonObject } from "../../domain/json/json.ts"
import { Tampered } from "../errors.ts"
import { deltaText } from "../sealed/deltaText.ts"
import { partsOf, type StreamPart } from "../sealed/streamParts.ts"

/** A revealed exchange that was verified. */
export interface ProvenExchange {
  readonly receipt: ReceiptClaims
  readonly request: JsonObject
  /** Payloads of the data frames; `null` if a complete answer has none. */
  readonly responses: ReadonlyArray<JsonObject | null>
}

interface ProvenAnswer {
  /** The whole answer; `undefined` for streams other than Chat Completions. */
  readonly answer: JsonObject | undefined
  /** The answer's text, for people to read. */
  readonly text: string
  /** Models named in the answer; may be empty. */
  readonly models: ReadonlyArray<unknown>
  readonly finishReasons: ReadonlyArray<unknown>
  /** Token counts, if they have the form of receipts. */
  readonly usage: unknown
}

type Restart = Extract<StreamPart, { readonly type: "restart" }>

/** The chunks after the last restart, and the restart itself. */
const streamed = (responses: ProvenExchange["responses"]) => {
  let restart: Restart | undefined
  let chunks: Array<JsonObject> = []
  for (const part of responses.flatMap((payload) => partsOf<JsonObject>(payload ?? {}))) {
    if (part.type === "delta") chunks.push(part.chunk)
    else {
      restart = part
      chunks = []
    }
  }
  return { chunks, restart }
}

/** The last restart, if there was one. */
export const restartOf = ({ receipt, responses }: ProvenExchange): Restart | undefined =>
  receipt.form === "stream" ? streamed(responses).restart : undefined

/** Returns the answer of an exchange, if any. Throws `Tampered` if it contradicts the receipt. */
export const provenAnswer = (exchange: ProvenExchange): ProvenAnswer | undefined => {
  const { receipt, request, responses } = exchange
  const { api } = request
  const isChat = api === CHAT_COMPLETIONS
  if (receipt.form === "stream") {
    const { chunks } = streamed(responses)
    // The payloads were proven to be the proxy's, so they have the shape that the proxy produces.
    if (isChat) return chatAnswer(accumulate(chunks as unknown as ReadonlyArray<ChatChunk>), chunks)
    return eventsAnswer(api, chunks)
  }
  const [answer] = responses
  if (receipt.status !== "complete") {
    if (answer !== null) throw new Tampered("There is an answer, but the receipt says that there is none.")
    return undefined
  }
  if (!isObject(answer)) throw new Tampered("There is no answer, but the receipt says that there is one.")
  if (!isChat) return wholeAnswer(api, answer)
  if (!Array.isArray(answer["choices"])) throw new Tampered("The answer is no completion.")
  return chatAnswer(answer as unknown as ChatCompletion, [answer])
}

const chatAnswer = (completion: ChatCompletion, named: ReadonlyArray<JsonObject>): ProvenAnswer => {
  const message = completion.choices[0]?.message
  return {
    answer: completion,
    text: typeof message?.content === "string" ? message.content : JSON.stringify(message ?? null),
    models: named.flatMap(({ model }) => (model === undefined ? [] : [model])),
    finishReasons: completion.choices.map((choice) => choice.finish_reason).filter((reason) => reason !== UNFINISHED),
    usage: completion.usage,
  }
}

/** A non-empty text. Some servers send an empty model or reason, others a number. */
const textIn = (value: unknown): ReadonlyArray<string> => (typeof value === "string" && value !== "" ? [value] : [])

const wholeAnswer = (api: unknown, answer: JsonObject): ProvenAnswer => ({
  answer,
  text: JSON.stringify(answer["content"] ?? answer["output"] ?? answer),
  models: textIn(answer["model"]),
  finishReasons: endOf(api, answer),
  usage: undefined,
})

/** Why the answer ended: `stop_reason` of Messages, `incomplete_details` or `status` of Responses. */
const endOf = (api: unknown, { incomplete_details, status, stop_reason }: JsonObject): ReadonlyArray<string> => {
  if (api === "messages") return textIn(stop_reason)
  if (api !== "responses") return []
  const [reason = status] = textIn(isObject(incomplete_details) && incomplete_details["reason"])
  return textIn(reason)
}

/**
 * Responses repeat the answer so far in some events; servers that abbreviate the last one may leave out its status, which its
 * type has too. Messages begin with the answer and send the end in `message_delta`.
 */
const eventsAnswer = (api: unknown, events: ReadonlyArray<JsonObject>): ProvenAnswer => {
  const models: Array<string> = []
  let finishReasons: ReadonlyArray<string> = []
  for (const { delta, message, response, type } of events) {
    const said = type === "message_delta" ? delta : (response ?? message)
    if (!isObject(said)) continue
    models.push(...textIn(said["model"]))
    const ends = endOf(api, { status: String(type).replace("response.", ""), ...said })
    if (ends.length > 0 || api === "responses") finishReasons = ends
  }
  return { answer: undefined, text: events.map(deltaText).join(""), models, finishReasons, usage: undefined }
}
