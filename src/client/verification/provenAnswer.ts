/** The answer that a revealed exchange shows, of whichever API: what stands in it that its receipt says, too. */
import { CHAT_COMPLETIONS } from "../../domain/upstream/apis.ts"
import type { ChatChunk, ChatCompletion } from "../../domain/chat/chatTypes.ts"
import { accumulate, UNFINISHED } from "../../domain/chat/chatStream.ts"
import type { ReceiptClaims } from "../../domain/protocol/statement.ts"
import { isObject, type JsonObject } from "../../domain/json/json.ts"
import { Tampered } from "../errors.ts"
import { deltaText } from "../sealed/deltaText.ts"
import { partsOf, type StreamPart } from "../sealed/streamParts.ts"

/** What a revealed exchange was found to be. */
export interface ProvenExchange {
  readonly receipt: ReceiptClaims
  readonly request: JsonObject
  /** Payloads of the data frames; that of a complete answer which there is none of is `null`. */
  readonly responses: ReadonlyArray<JsonObject | null>
}

interface ProvenAnswer {
  /** The answer whole, where the exchange has all of it in one place, or a stream was of Chat Completions. */
  readonly answer: JsonObject | undefined
  /** What it says, for people to read. */
  readonly text: string
  /** The models that it names; some answers name none. */
  readonly models: ReadonlyArray<unknown>
  readonly finishReasons: ReadonlyArray<unknown>
  /** Token counts where they have the form that receipts have. */
  readonly usage: unknown
}

type Restart = Extract<StreamPart, { readonly type: "restart" }>

/** The chunks that count, and the provider that took over before them: everything before a restart is void. */
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

/** The restart after which the answer begins, if there was one. */
export const restartOf = ({ receipt, responses }: ProvenExchange): Restart | undefined =>
  receipt.form === "stream" ? streamed(responses).restart : undefined

/** The answer that an exchange has, if it has one. Throws `Tampered` where that is not what the receipt says. */
export const provenAnswer = (exchange: ProvenExchange): ProvenAnswer | undefined => {
  const { receipt, request, responses } = exchange
  const isChat = request["api"] === CHAT_COMPLETIONS
  if (receipt.form === "stream") {
    const { chunks } = streamed(responses)
    // The payloads were proven to be the proxy's, so they have the shape that the proxy produces.
    if (isChat) return chatAnswer(accumulate(chunks as unknown as ReadonlyArray<ChatChunk>), chunks)
    return eventsAnswer(chunks)
  }
  const [answer] = responses
  if (receipt.status !== "complete") {
    if (answer !== null) throw new Tampered("There is an answer where the receipt says that there is none.")
    return undefined
  }
  if (!isObject(answer)) throw new Tampered("There is no answer where the receipt says that there is one.")
  if (!isChat) return wholeAnswer(answer)
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

/** Of the other APIs: what vendors name `model` and the end, in an answer or in the events of a stream. */
const wholeAnswer = (answer: JsonObject): ProvenAnswer => ({
  answer,
  text: JSON.stringify(answer["content"] ?? answer["output"] ?? answer),
  models: answer["model"] === undefined ? [] : [answer["model"]],
  finishReasons: endOf(answer),
  usage: undefined,
})

/** Anthropic Messages say it in `stop_reason`, OpenAI Responses in `status` and why it is not `completed`. */
const endOf = ({ incomplete_details, status, stop_reason }: JsonObject): ReadonlyArray<unknown> =>
  [stop_reason ?? (isObject(incomplete_details) ? incomplete_details["reason"] : undefined) ?? status].filter(
    (reason) => reason != null,
  )

/** Responses repeat the answer so far in some events; Messages begin with it, and say later what it ended with. */
const eventsAnswer = (events: ReadonlyArray<JsonObject>): ProvenAnswer => {
  const said: JsonObject = Object.assign(
    {},
    ...events.map(({ delta, message, response, type }) => (type === "message_delta" ? delta : (response ?? message))),
  )
  return { ...wholeAnswer(said), answer: undefined, text: events.map(deltaText).join("") }
}
