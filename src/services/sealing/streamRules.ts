/** How the pieces of a stream are put together, for each API (sealed protocol §5). */
import { isApiName, type ApiName } from "../../domain/apis.ts"
import type { ChatChunk } from "../../domain/chat.ts"
import { EventJoiner, type FindText, mergeEvents, messageText, responseText } from "../../domain/eventTexts.ts"
import type { JsonObject } from "../../domain/json.ts"
import { mergeChunks } from "../../domain/mergeChunks.ts"
import { PairJoiner } from "../../domain/surrogates.ts"

export interface StreamRules<Piece> {
  /** One piece for two that follow each other, and how much text the second one added; `undefined` where it loses anything. */
  readonly merge: (first: Piece, second: Piece) => { readonly chunk: Piece; readonly added: string } | undefined
  readonly joiner: () => Joiner<Piece>
}

/** Joins the pairs of surrogates that are cut between the pieces of one stream. */
interface Joiner<Piece> {
  readonly add: (piece: Piece, json: string) => ReadonlyArray<Piece>
  readonly end: () => ReadonlyArray<Piece>
  readonly clear: () => void
}

const chats: StreamRules<ChatChunk> = { merge: mergeChunks, joiner: () => new PairJoiner() }

const events = (textOf: FindText): StreamRules<JsonObject> => ({
  merge: mergeEvents(textOf),
  joiner: () => new EventJoiner(textOf),
})

const OF_EVENTS: Readonly<Partial<Record<ApiName, StreamRules<JsonObject>>>> = {
  messages: events(messageText),
  responses: events(responseText),
}

/** The rules for the streams of `api`, whatever a request calls its API. */
export const streamRulesOf = (api: unknown): StreamRules<JsonObject> =>
  (typeof api === "string" && isApiName(api) ? OF_EVENTS[api] : undefined) ??
  // What comes of a chat are chunks, as its readers make them.
  (chats as unknown as StreamRules<JsonObject>)
