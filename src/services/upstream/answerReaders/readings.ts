/** The readers of answers that are passed on as they came. */
import type { ApiName, CHAT_COMPLETIONS } from "../../../domain/upstream/apis.ts"
import type { JsonObject } from "../../../domain/json/json.ts"
import type { AnswerReading, ReadWhole } from "./AnswerReading.ts"
import { wholeEmbeddings } from "./embeddings.ts"
import { MessagesReading, wholeCount, wholeMessage } from "./messages.ts"
import { ResponsesReading, wholeResponse } from "./responses.ts"

/** The APIs whose answers are passed on unchanged. Answers of chats get members that servers left out. */
export type PassedApi = Exclude<ApiName, typeof CHAT_COMPLETIONS>

interface Readings {
  readonly whole: ReadWhole
  /** Makes a reader of one streamed answer. Absent if the API does not stream. */
  readonly stream?: () => AnswerReading<JsonObject>
}

export const READINGS: Readonly<Record<PassedApi, Readings>> = {
  messages: { whole: wholeMessage, stream: () => new MessagesReading() },
  "messages.count_tokens": { whole: wholeCount },
  responses: { whole: wholeResponse, stream: () => new ResponsesReading() },
  embeddings: { whole: wholeEmbeddings },
}

export const streamReading = (api: PassedApi): AnswerReading<JsonObject> => {
  const reading = READINGS[api].stream?.()
  if (reading === undefined) throw new Error(`${api} does not stream.`)
  return reading
}
