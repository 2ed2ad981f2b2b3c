/**
 * What JSON from outside has to be: I-JSON (RFC 7493), which every reader reads in the same way, within limits. If two
 * members could have one name, two verifiers could read two different questions out of one proven exchange. And code
 * that runs after the parser takes time per level and per value, of which a megabyte of brackets has half a million.
 */
import { fromUtf8 } from "./bytes.ts"
import type { Outline } from "./outline.ts"

export interface JsonLimits {
  /** Levels of arrays and objects within each other. */
  readonly depth: number
  /** Array elements and object members, counted over the whole text. */
  readonly values: number
}

/**
 * What a server accepts. The deepest JSON in use are schemas of tools, which take two levels for each level of their
 * own.
 */
export const JSON_LIMITS: JsonLimits = { depth: 64, values: 32_768 }

/**
 * What a client accepts: any number of values, because answers may be large, but few levels, because each level costs
 * the client a recursion.
 */
export const CLIENT_LIMITS: JsonLimits = { depth: 1024, values: Number.POSITIVE_INFINITY }

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

const HALF = "A string contains an unpaired surrogate."
const MARKED = "It begins with a byte order mark."
/** Longest piece of a member's name that is shown, in UTF-16 code units. */
const MAX_SHOWN = 64
const twice = (name: string) => `An object has two members ${JSON.stringify(name.slice(0, MAX_SHOWN).toWellFormed())}.`
const tooComplex = ({ depth, values }: JsonLimits) =>
  `At most ${depth} levels${Number.isFinite(values) ? ` and ${values} values` : ""} are accepted.`

/**
 * What is wrong with `text` besides not being JSON, as a sentence; `undefined` if nothing is. It has to be called
 * before the text is parsed, and only the parser finds out whether the text is JSON. It looks at every character at
 * most once, and keeps only the names of members. What it finds where on the way is noted in `outline`.
 */
export const jsonFault = (text: string, limits: JsonLimits = CLIENT_LIMITS, outline?: Outline): string | undefined => {
  if (text.startsWith("\uFEFF")) return MARKED
  if (!text.isWellFormed()) return HALF
  const { length } = text
  let depth = 0
  let values = 0
  let objects = 0
  let backslash = nextBackslash(text, 0)
  // For every level: the number of the object that is open there (0 for an array), and in which object of that level
  // each name was last seen. So an object takes no memory besides its members.
  const open: Array<number> = [0]
  const seen: Array<Map<string, number>> = []
  // Whether a string that begins here is the name of a member.
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
      outline?.named(depth, name, i + 1)
    } else if (code === COMMA) {
      outline?.ended(depth, i)
      if (++values > limits.values) return tooComplex(limits)
      names = open[depth] !== 0
    } else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      if (++depth > limits.depth) return tooComplex(limits)
      names = code === OPEN_OBJECT
      open[depth] = names ? ++objects : 0
      if (names) seen[depth] ??= new Map()
      while (isSpace(text.charCodeAt(i + 1))) i++
      // The first value has no comma before it, and an empty array or object has no value at all.
      const next = text.charCodeAt(i + 1)
      if (next !== CLOSE_ARRAY && next !== CLOSE_OBJECT && ++values > limits.values) return tooComplex(limits)
    } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) {
      outline?.ended(depth, i)
      // What follows the outermost value is white space, of which an end record has thousands, or the text is not JSON.
      if (--depth <= 0) return undefined
      names = false
    }
  }
  return undefined
}

/** The text is not I-JSON, or exceeds its limits. `message` says what is wrong, in a sentence. */
export class NotIJson extends Error {}

const textOf = (json: string | Uint8Array, limits: JsonLimits, outline?: Outline): string | NotIJson => {
  let text: string
  try {
    text = typeof json === "string" ? json : fromUtf8(json)
  } catch {
    return new NotIJson("It is not UTF-8.")
  }
  const fault = jsonFault(text, limits, outline)
  return fault === undefined ? text : new NotIJson(fault)
}

/** The text of what a server was sent, yet to be parsed. */
export const iJsonText = (bytes: Uint8Array, limits = JSON_LIMITS, outline?: Outline): string | NotIJson =>
  textOf(bytes, limits, outline)

/** Parses what a client was sent. Throws {@link NotIJson}. */
export const parseIJson = (json: string | Uint8Array): unknown => {
  const text = textOf(json, CLIENT_LIMITS)
  if (typeof text !== "string") throw text
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own message is not passed on, because it quotes the text.
    throw new NotIJson("It is not JSON.")
  }
}

const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09

/** The name after its escapes are resolved: names are compared in this form (RFC 7493 §2.3). */
const nameOf = (raw: string, escaped: boolean): string => {
  if (!escaped) return raw
  try {
    return JSON.parse(`"${raw}"`) as string
  } catch {
    // The text is not JSON, so it will not be parsed either.
    return raw
  }
}

const ESCAPE = /\\/g

/**
 * Where the next backslash stands; negative if there is none. A regular expression is used because V8 takes `indexOf`
 * to be free of effects and moved the call into the loop over every character: 600 kB of digits then took 7 s.
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
