/**
 * Checks JSON from outside: it must be I-JSON (RFC 7493), which every parser reads in the same way, within limits. With
 * duplicate names, two verifiers could read different questions from one proven exchange. Limits are necessary because
 * later code takes time per level and per value, and a megabyte of brackets has half a million of them.
 */
import { fromUtf8, utf8 } from "../bytes/bytes.ts"
import { HALF_PAIR, JsonTokens, skipSpace } from "./jsonTokens.ts"

export interface JsonLimits {
  /** Levels of arrays and objects within each other. */
  readonly depth: number
  /** Array elements and object members in the whole text. */
  readonly values: number
  /** Array elements that are numbers, counted apart. Without this limit, they count as values. */
  readonly numbers?: number
}

/** Limits of servers. A tool's schema, the deepest JSON in use, takes two levels for each of its own. */
export const JSON_LIMITS: JsonLimits = { depth: 64, values: 32_768 }

/** Limits of model calls: embeddings are asked for with up to 300,000 token ids, which take little time each. */
export const CALL_LIMITS: JsonLimits = { ...JSON_LIMITS, numbers: 524_288 }

/** Limits of clients: any number of values, because answers may be large, but few levels, because clients recurse. */
export const CLIENT_LIMITS: JsonLimits = { depth: 1024, values: Number.POSITIVE_INFINITY }

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

const MINUS = 0x2d
const ZERO = 0x30
const NINE = 0x39
const beginsNumber = (byte: number | undefined): boolean =>
  byte !== undefined && (byte === MINUS || (byte >= ZERO && byte <= NINE))

const HALF = "A string contains an unpaired surrogate."
export const NOT_UTF8 = "It is not UTF-8."
const MARKED = "It begins with a byte order mark."
/** Longest part of a member's name in a message, in UTF-16 code units. */
const MAX_SHOWN = 64
const twice = (name: string) => `An object has two members ${JSON.stringify(name.slice(0, MAX_SHOWN).toWellFormed())}.`
const tooComplex = ({ depth, numbers, values }: JsonLimits) => {
  if (!Number.isFinite(values)) return `At most ${depth} levels are accepted.`
  return numbers === undefined
    ? `At most ${depth} levels and ${values} values are accepted.`
    : `At most ${depth} levels, ${values} values and ${numbers} numbers in arrays are accepted.`
}

/** Receives the positions of values on each level. */
export interface PlaceWatch {
  /** The value of the member `name` begins at `at`. */
  readonly begun: (level: number, name: string, at: number) => void
  /** A value on this level ends before `end`. */
  readonly ended: (level: number, end: number) => void
}

/** The fault of a text that is not JSON at all. */
export const NOT_JSON = "It is not JSON."

const BACKSLASH = 0x5c

/** The member name between two quotes, unescaped: names are compared in this form (RFC 7493 §2.3). */
const nameIn = (bytes: Uint8Array, from: number, to: number): string => {
  const text = bytes.subarray(from, to)
  if (!text.includes(BACKSLASH)) return fromUtf8(text)
  // With its quotes it is a JSON string, as endOfString has checked.
  return JSON.parse(fromUtf8(bytes.subarray(from - 1, to + 1))) as string
}

/** Bytes after which a step ends, at the next value. A step takes some milliseconds if they are all member names. */
const STEP_BYTES = 256 * 1024

/**
 * Returns the first fault of the UTF-8 in `bytes`, as a sentence; `undefined` if it is I-JSON within `limits`. Reads every
 * byte once, keeps only member names, reports values to `watch`, and yields after each step.
 */
export function* faultSteps(
  bytes: Uint8Array,
  limits: JsonLimits,
  watch?: PlaceWatch,
): Generator<void, string | undefined> {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return MARKED
  const tokens = new JsonTokens(bytes)
  let depth = 0
  let values = 0
  let numbers = 0
  let objects = 0
  // For each level: the number of the open object (0 for an array), and the object in which each name was last seen.
  // Reusing the map of a level saves one map per object.
  const open: Array<number> = [0]
  const seen: Array<Map<string, number>> = []
  let i = skipSpace(bytes, 0)
  let pause = STEP_BYTES
  // Each round reads a member name, if there is one, and a value or its opening bracket.
  let named = false
  for (;;) {
    if (i > pause) {
      pause = i + STEP_BYTES
      yield
    }
    if (named) {
      if (bytes[i] !== QUOTE) return NOT_JSON
      const end = tokens.endOfString(i + 1)
      if (end < 0) return end === HALF_PAIR ? HALF : NOT_JSON
      const name = nameIn(bytes, i + 1, end)
      if (seen[depth]?.get(name) === open[depth]) return twice(name)
      seen[depth]?.set(name, open[depth] ?? 0)
      i = skipSpace(bytes, end + 1)
      if (bytes[i] !== COLON) return NOT_JSON
      i = skipSpace(bytes, i + 1)
      watch?.begun(depth, name, i)
    }
    const first = bytes[i]
    if (depth > 0) {
      if (limits.numbers !== undefined && !named && beginsNumber(first)) {
        if (++numbers > limits.numbers) return tooComplex(limits)
      } else if (++values > limits.values) return tooComplex(limits)
    }
    if (first === OPEN_ARRAY || first === OPEN_OBJECT) {
      if (++depth > limits.depth) return tooComplex(limits)
      named = first === OPEN_OBJECT
      open[depth] = named ? ++objects : 0
      if (named) seen[depth] ??= new Map()
      i = skipSpace(bytes, i + 1)
      // The first value has no comma before it, and an empty array or object has no value.
      if (bytes[i] !== (named ? CLOSE_OBJECT : CLOSE_ARRAY)) continue
      depth--
      i++
    } else if (first === QUOTE) {
      const end = tokens.endOfString(i + 1)
      if (end < 0) return end === HALF_PAIR ? HALF : NOT_JSON
      i = end + 1
    } else {
      i = tokens.endOfScalar(i)
      if (i < 0) return NOT_JSON
    }
    // After a value come closing brackets, and then a comma or the end.
    for (;;) {
      const end = i
      if (depth === 0) return skipSpace(bytes, end) === bytes.length ? undefined : NOT_JSON
      i = skipSpace(bytes, end)
      watch?.ended(depth, end)
      named = open[depth] !== 0
      if (bytes[i] === COMMA) break
      if (bytes[i] !== (named ? CLOSE_OBJECT : CLOSE_ARRAY)) return NOT_JSON
      depth--
      i++
    }
    i = skipSpace(bytes, i + 1)
  }
}

export const bytesFault = (bytes: Uint8Array, limits: JsonLimits, watch?: PlaceWatch): string | undefined => {
  const steps = faultSteps(bytes, limits, watch)
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/**
 * The first fault of `text` as a sentence, unless the fault is that it is not JSON, which the parser, called next,
 * reports.
 */
export const jsonFault = (text: string, limits: JsonLimits = CLIENT_LIMITS): string | undefined => {
  const fault = text.isWellFormed() ? bytesFault(utf8(text), limits) : HALF
  return fault === NOT_JSON ? undefined : fault
}

/** The text is not I-JSON or exceeds its limits. `message` says why. */
export class NotIJson extends Error {}

/** The checked text of a request, for the parser, which refuses text that is not JSON. */
export const iJsonText = (bytes: Uint8Array, limits = JSON_LIMITS): string | NotIJson => {
  const text = textIn(bytes)
  if (text === undefined) return new NotIJson(NOT_UTF8)
  const fault = bytesFault(bytes, limits)
  return fault === undefined || fault === NOT_JSON ? text : new NotIJson(fault)
}

const textIn = (bytes: Uint8Array): string | undefined => {
  try {
    return fromUtf8(bytes)
  } catch {
    return undefined
  }
}

/** Parses a response. Throws {@link NotIJson}. */
export const parseIJson = (json: string | Uint8Array): unknown => {
  const text = typeof json === "string" ? json : textIn(json)
  if (text === undefined) throw new NotIJson(NOT_UTF8)
  if (!text.isWellFormed()) throw new NotIJson(HALF)
  const fault = bytesFault(typeof json === "string" ? utf8(json) : json, CLIENT_LIMITS)
  if (fault !== undefined) throw new NotIJson(fault)
  return JSON.parse(text)
}
