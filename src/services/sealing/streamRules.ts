/** How the pieces of a stream are put together, for each API (sealed protocol §5). */
import { isApiName, type ApiName } from "../../domain/upstream/apis.ts"
import type { ChatChunk } from "../../domain/chat/chat.ts"
import {
  addedToEvent,
  cutEvent,
  EventJoiner,
  type FindText,
  messageText,
  responseText,
  withTextAdded,
} from "../../domain/chat/eventTexts.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import { type Added, addedTo, cutChunk, withAdded } from "../../domain/chat/mergeChunks.ts"
import { PairJoiner } from "../../domain/json/surrogates.ts"

export interface StreamRules<Piece> {
  /** What the second of two pieces adds to the first; `undefined` where one piece for both would lose anything. */
  readonly added: (first: Piece, second: Piece) => Added | undefined
  /** One piece for `first`, `last` and those between, which all add to the same text. */
  readonly grow: (first: Piece, last: Piece, added: Added) => Piece
  /** A piece as several, none with a text longer than `most` bytes of JSON; one where it must not be cut. */
  readonly cut: (piece: Piece, most: number) => ReadonlyArray<Piece>
  readonly joiner: () => Joiner<Piece>
}

/** Joins the pairs of surrogates that are cut between the pieces of one stream. */
interface Joiner<Piece> {
  readonly add: (piece: Piece, json: string) => ReadonlyArray<Piece>
  readonly end: () => ReadonlyArray<Piece>
  readonly clear: () => void
}

const chats: StreamRules<ChatChunk> = {
  added: addedTo,
  grow: (first, _last, added) => withAdded(first, added),
  cut: cutChunk,
  joiner: () => new PairJoiner(),
}

const events = (textOf: FindText): StreamRules<JsonObject> => {
  const addedText = addedToEvent(textOf)
  const grow = withTextAdded(textOf)
  return {
    added: (first, second) => {
      const text = addedText(first, second)
      return text === undefined ? undefined : { member: "text", text }
    },
    grow: (first, last, { text }) => grow(first, last, text),
    cut: cutEvent(textOf),
    joiner: () => new EventJoiner(textOf),
  }
}

const OF_EVENTS: Readonly<Partial<Record<ApiName, StreamRules<JsonObject>>>> = {
  messages: events(messageText),
  // Its events are numbered, and two pieces of one event would have one number.
  responses: { ...events(responseText), cut: (event) => [event] },
}

/** The rules for the streams of `api`, whatever a request calls its API. */
export const streamRulesOf = (api: unknown): StreamRules<JsonObject> =>
  (typeof api === "string" && isApiName(api) ? OF_EVENTS[api] : undefined) ??
  // What comes of a chat are chunks, as its readers make them.
  (chats as unknown as StreamRules<JsonObject>)
