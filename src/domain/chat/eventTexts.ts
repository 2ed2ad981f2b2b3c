/** Growing texts in streams of Messages and Responses: merges their events, and joins cut surrogate pairs. */
import { cutText } from "./cutText.ts"
import { isObject, type JsonObject } from "../json/json.ts"
import { isEmpty } from "./mergeChunks.ts"
import { ENDS_IN_HALF, mayHaveLoneSurrogate, REPLACEMENT, wellFormedObject } from "../json/surrogates.ts"

interface Growing {
  /** Identifies the text; events with the same place continue one another. */
  readonly place: string
  readonly text: string
  readonly with: (text: string) => JsonObject
}

/** Finds the text of an event, if the event continues a text. */
export type FindText = (event: JsonObject) => Growing | undefined

/** The members of a `content_block_delta` that grow, by its type. A `signature` is sent whole. */
const MESSAGE_TEXTS: ReadonlyMap<unknown, string> = new Map([
  ["text_delta", "text"],
  ["thinking_delta", "thinking"],
  ["input_json_delta", "partial_json"],
])

export const messageText: FindText = (event) => {
  const { delta, index, type } = event
  if (type !== "content_block_delta" || !isObject(delta)) return undefined
  const name = MESSAGE_TEXTS.get(delta["type"])
  const text = name === undefined ? undefined : delta[name]
  if (name === undefined || typeof text !== "string") return undefined
  return { place: `${String(index)} ${name}`, text, with: (text) => ({ ...event, delta: { ...delta, [name]: text } }) }
}

/** Events whose `delta` is a piece of text. Other deltas, such as audio, cannot be concatenated. */
export const RESPONSE_TEXTS: ReadonlySet<unknown> = new Set([
  "response.output_text.delta",
  "response.refusal.delta",
  "response.reasoning_text.delta",
  "response.reasoning_summary_text.delta",
  "response.function_call_arguments.delta",
  "response.custom_tool_call_input.delta",
  "response.mcp_call_arguments.delta",
  "response.code_interpreter_call_code.delta",
])

export const responseText: FindText = (event) => {
  const { content_index, delta, item_id, output_index, summary_index, type } = event
  if (!RESPONSE_TEXTS.has(type) || typeof delta !== "string") return undefined
  return {
    place: JSON.stringify([type, item_id, output_index, content_index, summary_index]),
    text: delta,
    with: (text) => ({ ...event, delta: text }),
  }
}

/** The members that identify the text which an event continues. */
const NAMING: ReadonlySet<string> = new Set([
  "type",
  "index",
  "delta",
  "item_id",
  "output_index",
  "content_index",
  "summary_index",
  "sequence_number",
])

/** Whether another event could replace this one except for its text. */
const isPlain = (event: JsonObject): boolean =>
  Object.keys(event).every((name) => NAMING.has(name) || isEmpty(event[name])) &&
  (!isObject(event["delta"]) || Object.values(event["delta"]).filter((value) => !isEmpty(value)).length <= 2)

/** The text that the second event adds to the first; `undefined` if merging them would lose anything. */
export const addedToEvent =
  (textOf: FindText) =>
  (first: JsonObject, second: JsonObject): string | undefined => {
    const before = textOf(first)
    const after = textOf(second)
    if (before === undefined || after === undefined || before.place !== after.place) return undefined
    if (!isPlain(first) || !isPlain(second)) return undefined
    const { sequence_number: number } = second
    return (number === undefined) === (first["sequence_number"] === undefined) ? after.text : undefined
  }

/** Merges `first`, `last` and the events between, which all continue one text. */
export const withTextAdded =
  (textOf: FindText) =>
  (first: JsonObject, last: JsonObject, text: string): JsonObject => {
    const growing = textOf(first)
    const grown = growing === undefined ? first : growing.with(growing.text + text)
    const { sequence_number: number } = last
    // The later number, so numbers still increase.
    return number === undefined ? grown : { ...grown, sequence_number: number }
  }

/** Splits `event` into several whose texts have at most `most` bytes of JSON. */
export const cutEvent =
  (textOf: FindText) =>
  (event: JsonObject, most: number): ReadonlyArray<JsonObject> => {
    const growing = textOf(event)
    if (growing === undefined || !isPlain(event)) return [event]
    const pieces = cutText(growing.text, most)
    return pieces.length === 1 ? [event] : pieces.map(growing.with)
  }

/** Joins surrogate pairs that are cut between the events of a stream. */
export class EventJoiner {
  private readonly textOf: FindText
  /** High surrogates by place, each with the event to send if it stays unpaired. */
  private readonly held = new Map<string, { readonly half: string; readonly alone: JsonObject }>()

  constructor(textOf: FindText) {
    this.textOf = textOf
  }

  /** `event` (`json` is its JSON) with its text cut between characters, after held surrogates; itself if unchanged. */
  add(event: JsonObject, json: string): ReadonlyArray<JsonObject> {
    if (this.held.size === 0 && !mayHaveLoneSurrogate(json)) return [event]
    const growing = this.textOf(event)
    if (growing === undefined) return [...this.end(), wellFormedObject(event)]
    const whole = (this.held.get(growing.place)?.half ?? "") + growing.text
    this.held.delete(growing.place)
    const half = ENDS_IN_HALF.exec(whole)?.[0] ?? ""
    if (half !== "") this.held.set(growing.place, { half, alone: wellFormedObject(growing.with(REPLACEMENT)) })
    return [wellFormedObject(growing.with(whole.slice(0, whole.length - half.length)))]
  }

  /** Events for held surrogates that can no longer be joined. */
  end(): ReadonlyArray<JsonObject> {
    const alone = [...this.held.values()].map((held) => held.alone)
    this.held.clear()
    return alone
  }

  /** Discards held surrogates, because the stream restarts. */
  clear(): void {
    this.held.clear()
  }
}
