/**
 * What JSON from outside has to be: I-JSON (RFC 7493), whose every text says one thing to every reader, and bearable. Two
 * members of one name let two verifiers read two questions out of one proven exchange; and what comes after parsing
 * pays by the level and by the value, so a megabyte of brackets would be half a million of either.
 */
import { fromUtf8 } from "./bytes.ts"

export interface JsonLimits {
  /** Levels of arrays and objects within each other. */
  readonly depth: number
  /** Array elements and object members, counted over the whole text. */
  readonly values: number
}

/** What a server takes. Schemas of tools, the deepest there is, take two levels per level of their own. */
export const JSON_LIMITS: JsonLimits = { depth: 64, values: 32_768 }

/** What a client takes: however much there is of an answer, but not levels alone, each of which costs it something. */
const CLIENT_LIMITS: JsonLimits = { depth: 1024, values: Number.POSITIVE_INFINITY }

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const SMALL_U = 0x75
const SMALL_D = 0x64
const CAPITAL_D = 0x44

const HALF = "A string has half of a surrogate pair."
const MARKED = "It begins with a byte order mark."
/** Longest piece of a member's name that is shown, in UTF-16 code units. */
const MAX_SHOWN = 64
const twice = (name: string) => `An object has two members ${JSON.stringify(name.slice(0, MAX_SHOWN).toWellFormed())}.`
const tooComplex = ({ depth, values }: JsonLimits) =>
  `At most ${depth} levels${Number.isFinite(values) ? ` and ${values} values` : ""} are accepted.`

/**
 * What is wrong with `text` beside not being JSON, in a sentence; `undefined` if nothing is. To be asked before the text
 * is parsed, which is what finds out whether it is JSON. It looks at every character once at most, and keeps no more
 * than the names of members.
 */
export const jsonFault = (text: string, limits: JsonLimits = CLIENT_LIMITS): string | undefined => {
  if (text.startsWith("\uFEFF")) return MARKED
  if (!text.isWellFormed()) return HALF
  const { length } = text
  let depth = 0
  let values = 0
  let objects = 0
  let backslash = nextBackslash(text, 0)
  // Of every level: the number of the object that is open there, or 0 for an array, and in which object of that level
  // each name was seen last. So an object costs nothing but its members.
  const open: Array<number> = [0]
  const seen: Array<Map<string, number>> = []
  // Whether a string that begins now is the name of a member.
  let names = false
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) {
      const start = i + 1
      if (backslash >= 0 && backslash < start) backslash = nextBackslash(text, start)
      i = text.indexOf('"', start)
      const escaped = backslash >= 0 && backslash < i
      if (escaped) i = endOfEscaped(text, backslash)
      if (i < 0) return escaped ? HALF : undefined
      if (!names) continue
      names = false
      const name = nameOf(text.slice(start, i), escaped)
      if (seen[depth]?.get(name) === open[depth]) return twice(name)
      seen[depth]?.set(name, open[depth] ?? 0)
    } else if (code === COMMA) {
      if (++values > limits.values) return tooComplex(limits)
      names = open[depth] !== 0
    } else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      if (++depth > limits.depth) return tooComplex(limits)
      names = code === OPEN_OBJECT
      open[depth] = names ? ++objects : 0
      if (names) seen[depth] ??= new Map()
      while (isSpace(text.charCodeAt(i + 1))) i++
      // The first value has no comma before it, and where the next bracket closes there is none.
      const next = text.charCodeAt(i + 1)
      if (next !== CLOSE_ARRAY && next !== CLOSE_OBJECT && ++values > limits.values) return tooComplex(limits)
    } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) {
      depth--
      names = false
    }
  }
  return undefined
}

/** It is not I-JSON, or beyond its limits. `message` says what is wrong, in a sentence. */
export class NotIJson extends Error {}

const textOf = (json: string | Uint8Array, limits: JsonLimits): string | NotIJson => {
  let text: string
  try {
    text = typeof json === "string" ? json : fromUtf8(json)
  } catch {
    return new NotIJson("It is not UTF-8.")
  }
  const fault = jsonFault(text, limits)
  return fault === undefined ? text : new NotIJson(fault)
}

/** The text of what a server was sent, yet to be parsed. */
export const iJsonText = (bytes: Uint8Array, limits = JSON_LIMITS): string | NotIJson => textOf(bytes, limits)

/** Parses what a client was sent. Throws {@link NotIJson}. */
export const parseIJson = (json: string | Uint8Array): unknown => {
  const text = textOf(json, CLIENT_LIMITS)
  if (typeof text !== "string") throw text
  try {
    return JSON.parse(text)
  } catch {
    // What the parser says quotes the text.
    throw new NotIJson("It is not JSON.")
  }
}

const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09

/** The name as it is after its escapes, by which names are the same (RFC 7493 §2.3). */
const nameOf = (raw: string, escaped: boolean): string => {
  if (!escaped) return raw
  try {
    return JSON.parse(`"${raw}"`) as string
  } catch {
    // No JSON, so the text will not be parsed either.
    return raw
  }
}

const ESCAPE = /\\/g

/**
 * Where the next backslash stands; negative when there is none. A pattern rather than `indexOf`, which V8 takes for free of
 * effects: it moved a search whose answer is seldom needed to where every character passes, and 600 kB of digits took 7 s.
 */
const nextBackslash = (text: string, from: number): number => {
  ESCAPE.lastIndex = from
  return ESCAPE.test(text) ? ESCAPE.lastIndex - 1 : -1
}
/**
 * Where a string ends whose first backslash is at `i`: at its closing quote, or with the text. Negative when an escape
 * stands for half of a surrogate pair without an escape for the other half beside it.
 */
const endOfEscaped = (text: string, i: number): number => {
  let afterHigh = false
  for (;;) {
    const code = text.charCodeAt(i)
    const isUnit = code === BACKSLASH && text.charCodeAt(i + 1) === SMALL_U
    const half = isUnit ? halfAt(text, i + 2) : undefined
    if ((half === "low") !== afterHigh) return -1
    afterHigh = half === "high"
    if (code === QUOTE) return i
    if (Number.isNaN(code)) return text.length
    if (code !== BACKSLASH) i++
    else i += isUnit ? "\\u0000".length : "\\n".length
  }
}

/** Which half of a surrogate pair the four hexadecimal digits at `i` are, if any: D800 to DBFF, or DC00 to DFFF. */
const halfAt = (text: string, i: number): "high" | "low" | undefined => {
  const first = text.charCodeAt(i)
  if (first !== SMALL_D && first !== CAPITAL_D) return undefined
  const second = Number.parseInt(text.charAt(i + 1), 16)
  if (second < 0x8) return undefined
  return second < 0xc ? "high" : "low"
}
