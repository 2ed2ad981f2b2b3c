/** Joins surrogate pairs cut between chunks, and replaces unpaired ones with U+FFFD, for I-JSON (RFC 7493 §2.1). */
import { isObject, type JsonObject } from "./json.ts"
import type { ChatChunk, Delta } from "../chat/chatTypes.ts"
import { WHOLE } from "../chat/chatStream.ts"

/** The escape that `JSON.stringify` writes for an unpaired surrogate. A literal match in a string does no harm. */
const MAYBE_HALF = /\\ud[89a-f]/
export const ENDS_IN_HALF = /[\ud800-\udbff]$/
export const REPLACEMENT = "\uFFFD"

/** Whether output of `JSON.stringify` may contain an unpaired surrogate. */
export const mayHaveLoneSurrogate = (json: string): boolean => MAYBE_HALF.test(json)

/** The I-JSON of a value, with U+FFFD for each unpaired surrogate. */
export const iJsonOf = (value: unknown): string => {
  const json = JSON.stringify(value)
  return mayHaveLoneSurrogate(json) ? JSON.stringify(wellFormed(value)) : json
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

/** The object with U+FFFD for each unpaired surrogate. */
export const wellFormedObject = (value: JsonObject): JsonObject => mapMembers(value, wellFormed)

/** Path of a growing text in a delta, with tool calls by index. */
type MemberPath = ReadonlyArray<string | number>

/** Joins the pairs that are cut between the chunks of one stream. */
export class PairJoiner {
  /** High surrogates by choice, then by the JSON of their paths. */
  private readonly held = new Map<number, Map<string, string>>()
  /** The last chunk from which a surrogate is held. */
  private last: ChatChunk | undefined

  /** `chunk` (`json` is its JSON) with texts cut between characters, after held surrogates; itself if unchanged. */
  add(chunk: ChatChunk, json = JSON.stringify(chunk)): ReadonlyArray<ChatChunk> {
    if (this.held.size === 0 && !MAYBE_HALF.test(json)) return [chunk]
    const choices = chunk.choices.map((choice) => ({
      ...mapMembers(choice, wellFormed),
      delta: this.join(choice.index, [], choice.delta, choice.finish_reason != null),
    }))
    const ended = chunk.choices.flatMap(({ finish_reason, index }) => (finish_reason == null ? [] : [index]))
    // Only texts change, so the shape stays.
    const joined = { ...mapMembers(chunk, wellFormed), choices } as unknown as ChatChunk
    this.last = joined
    return [...ended.flatMap((choice) => this.release(choice)), joined]
  }

  /** Chunks for surrogates still held at the end of the stream. */
  end(): ReadonlyArray<ChatChunk> {
    return [...this.held.keys()].flatMap((choice) => this.release(choice))
  }

  /** Discards held surrogates, because the stream restarts. */
  clear(): void {
    this.held.clear()
  }

  private join(choice: number, place: MemberPath, value: unknown, isLast: boolean): unknown {
    if (typeof value === "string") return this.grow(choice, JSON.stringify(place), value, isLast)
    if (!isObject(value)) return wellFormed(value)
    return mapMembers(value, (member, name) => {
      if (WHOLE.has(name)) return wellFormed(member)
      const inner = [...place, name]
      if (name !== "tool_calls" || !Array.isArray(member)) return this.join(choice, inner, member, isLast)
      return member.map((call) =>
        this.join(choice, [...inner, isObject(call) ? Number(call["index"]) : 0], call, isLast),
      )
    })
  }

  private grow(choice: number, place: string, text: string, isLast: boolean): string {
    const halves = this.held.get(choice) ?? new Map<string, string>()
    const whole = (halves.get(place) ?? "") + text
    const isCut = !isLast && ENDS_IN_HALF.test(whole)
    if (isCut) this.held.set(choice, halves.set(place, whole.slice(-1)))
    else if (halves.delete(place) && halves.size === 0) this.held.delete(choice)
    return (isCut ? whole.slice(0, -1) : whole).toWellFormed()
  }

  /** Chunks like the last one for held surrogates of a choice, which can no longer be joined. */
  private release(index: number): ReadonlyArray<ChatChunk> {
    const { last } = this
    const halves = this.held.get(index)
    if (last === undefined || halves === undefined) return []
    this.held.delete(index)
    const { created, id, model, object } = last
    return [...halves.keys()].map((place) => {
      // This class wrote the path.
      const delta = deltaWith(JSON.parse(place) as MemberPath)
      return { id, object, created, model, choices: [{ index, delta, finish_reason: null }] }
    })
  }
}

/** A delta that adds U+FFFD to the text in its `members`. */
const deltaWith = (members: MemberPath): Delta =>
  members.reduceRight<unknown>(
    (inner, member) => (typeof member === "number" ? [{ index: member, ...Object(inner) }] : { [member]: inner }),
    REPLACEMENT,
    // The text comes from a delta of this shape.
  ) as Delta
