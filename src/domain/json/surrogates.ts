/**
 * Characters beyond the Basic Multilingual Plane are pairs in the strings of this language, and providers cut answers
 * between the two. Half of a pair is not I-JSON (RFC 7493 §2.1), so halves are joined here, or become U+FFFD.
 */
import { isObject, type JsonObject } from "./json.ts"
import type { ChatChunk, Delta } from "../chat/chatTypes.ts"
import { WHOLE } from "../chat/chatStream.ts"

/** How `JSON.stringify` writes half of a pair. The same characters may also stand in a string, which does no harm. */
const MAYBE_HALF = /\\ud[89a-f]/
export const ENDS_IN_HALF = /[\ud800-\udbff]$/
export const REPLACEMENT = "\uFFFD"

/** Whether a text that `JSON.stringify` wrote may have half of a pair in it. */
export const mayHoldHalf = (json: string): boolean => MAYBE_HALF.test(json)

/** The I-JSON of a value, with U+FFFD for each half of a pair. */
export const iJsonOf = (value: unknown): string => {
  const json = JSON.stringify(value)
  return mayHoldHalf(json) ? JSON.stringify(wellFormed(value)) : json
}

const mapMembers = (record: object, change: (value: unknown, name: string) => unknown): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(record).map(([half, value]) => {
      const name = half.toWellFormed()
      return [name, change(value, name)]
    }),
  )

const wellFormed = (value: unknown): unknown => {
  if (typeof value === "string") return value.toWellFormed()
  if (Array.isArray(value)) return value.map(wellFormed)
  return isObject(value) ? wellFormedObject(value) : value
}

/** An object with U+FFFD for each half of a pair in it. */
export const wellFormedObject = (value: JsonObject): JsonObject => mapMembers(value, wellFormed)

/** Where a text grows: its choice, then the members of the delta that it is in, a tool call by its index. */
type Place = readonly [choice: number, ...members: ReadonlyArray<string | number>]

/** Joins the pairs that are cut between the chunks of one stream. */
export class PairJoiner {
  /** First halves, by the JSON of their places. */
  private readonly held = new Map<string, string>()
  /** The last chunk of which something is held. */
  private last: ChatChunk | undefined

  /**
   * `chunk`, whose JSON is `json`, with its texts cut between characters; before it, what was held of choices that it
   * ends. Where nothing was held or cut, it is the same object.
   */
  add(chunk: ChatChunk, json = JSON.stringify(chunk)): ReadonlyArray<ChatChunk> {
    if (this.held.size === 0 && !MAYBE_HALF.test(json)) return [chunk]
    const choices = chunk.choices.map((choice) => ({
      ...mapMembers(choice, wellFormed),
      delta: this.join([choice.index], choice.delta, choice.finish_reason != null),
    }))
    const ended = new Set(chunk.choices.flatMap(({ finish_reason, index }) => (finish_reason == null ? [] : [index])))
    // Its texts may be others, its shape is what it was.
    const joined = { ...mapMembers(chunk, wellFormed), choices } as unknown as ChatChunk
    this.last = joined
    return [...this.release((choice) => ended.has(choice)), joined]
  }

  /** What is held at the end of the stream. */
  end(): ReadonlyArray<ChatChunk> {
    return this.release(() => true)
  }

  /** Forgets what is held, because what it belongs to is void. */
  clear(): void {
    this.held.clear()
  }

  private join(place: Place, value: unknown, isLast: boolean): unknown {
    if (typeof value === "string") return this.grow(JSON.stringify(place), value, isLast)
    if (!isObject(value)) return wellFormed(value)
    return mapMembers(value, (member, name) => {
      if (WHOLE.has(name)) return wellFormed(member)
      if (name !== "tool_calls" || !Array.isArray(member)) return this.join([...place, name], member, isLast)
      return member.map((call) => this.join([...place, name, isObject(call) ? Number(call["index"]) : 0], call, isLast))
    })
  }

  private grow(place: string, text: string, isLast: boolean): string {
    const whole = (this.held.get(place) ?? "") + text
    this.held.delete(place)
    if (isLast || !ENDS_IN_HALF.test(whole)) return whole.toWellFormed()
    this.held.set(place, whole.slice(-1))
    return whole.slice(0, -1).toWellFormed()
  }

  /** Chunks like the last one for what is held of some choices and will not be joined any more. */
  private release(isOver: (choice: number) => boolean): ReadonlyArray<ChatChunk> {
    const { last } = this
    if (last === undefined) return []
    const { created, id, model, object } = last
    return [...this.held.keys()].flatMap((key) => {
      // Places were written by this class.
      const [index, ...members] = JSON.parse(key) as Place
      if (!isOver(index)) return []
      this.held.delete(key)
      return [{ id, object, created, model, choices: [{ index, delta: deltaWith(members), finish_reason: null }] }]
    })
  }
}

/** A delta that adds U+FFFD to the text in its `members`. */
const deltaWith = (members: ReadonlyArray<string | number>): Delta =>
  members.reduceRight<unknown>(
    (inner, member) => (typeof member === "number" ? [{ index: member, ...Object(inner) }] : { [member]: inner }),
    REPLACEMENT,
    // The text was held back from a delta of this shape.
  ) as Delta
