import type { ChatChunk, ChatCompletion } from "../../domain/chat/chatTypes.ts"
import { ChatAccumulator } from "../../domain/chat/chatStream.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import { deltaText } from "./deltaText.ts"
import type { Join, SealedStream, StreamEnd } from "./SealedStream.ts"

/** The end of a stream of Chat Completions. */
export interface ChatEnd extends StreamEnd {
  readonly completion: ChatCompletion
}

/** A stream of Chat Completions. */
export type ChatStream = SealedStream<ChatChunk, ChatEnd>

/** A stream of another API: each chunk is the data of one event of the vendor's. */
export type EventStream = SealedStream<JsonObject, StreamEnd>

/** Joins chunks to a completion. */
export const joinChat = (): Join<ChatChunk, ChatEnd> => {
  const answer = new ChatAccumulator()
  return {
    add: (chunk) => answer.add(chunk),
    end: (verified) => ({ completion: answer.completion, ...verified }),
    text: () => {
      const content = answer.completion.choices[0]?.message.content
      return typeof content === "string" ? content : ""
    },
  }
}

/** Joins only the text. Most APIs repeat the whole answer in their last events. */
export const joinEvents = (): Join<JsonObject, StreamEnd> => {
  let text = ""
  return {
    add: (event) => {
      text += deltaText(event)
    },
    end: (verified) => verified,
    text: () => text,
  }
}
