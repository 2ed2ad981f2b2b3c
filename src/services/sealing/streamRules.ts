/** Rules for merging and cutting the pieces of a stream, for each API (sealed protocol §5). */
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
  /** The text that the second piece adds to the first; `undefined` if merging them would lose anything. */
  readonly added: (first: Piece, second: Piece) => Added | undefined
  /** Merges `first` to `last`, which all add to the same text. */
  readonly grow: (first: Piece, last: Piece, added: Added) => Piece
  /** Cuts a piece into texts of at most `most` bytes of JSON; returns one piece if it must not be cut. */
  readonly cut: (piece: Piece, most: number) => ReadonlyArray<Piece>
  readonly joiner: () => Joiner<Piece>
}

/** Joins surrogate pairs that are split between pieces. */
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
  // Never cut: events are numbered, and the pieces of one event would repeat its number.
  responses: { ...events(responseText), cut: (event) => [event] },
}

/** The rules for the streams of `api`; for an unknown API those of chats. */
export const streamRulesOf = (api: unknown): StreamRules<JsonObject> =>
  (typeof api === "string" && isApiName(api) ? OF_EVENTS[api] : undefined) ??
  // The pieces of a chat are chunks.
  (chats as unknown as StreamRules<JsonObject>)
