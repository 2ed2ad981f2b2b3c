/** Finds JSON in a model's answer in linear time: a stored answer that is slow to read would block each new worker. */
import { Equal } from "effect"
import { JSON_LIMITS, jsonFault } from "../../../../domain/json/iJson.ts"
import { isObject, type JsonObject, parseJson } from "../../../../domain/json/json.ts"

/** Larger than any critique and any answer that a revision repeats. */
export const MAX_JSON_CHARS = 1024 * 1024
/** How many objects, whole or broken, a text may have. */
const MAX_BEGINNINGS = 16

/**
 * Returns the JSON objects in a text, wherever they stand: models fence and introduce JSON despite instructions. In the
 * place of a broken one is `undefined`. Returns none if there is too much to search. Linear: the text is read at most {@link MAX_BEGINNINGS} times.
 */
export const jsonIn = (text: string): ReadonlyArray<JsonObject | undefined> => {
  if (text.length > MAX_JSON_CHARS) return []
  const found: Array<JsonObject | undefined> = []
  let tried = 0
  let from = 0
  // Other braces are part of prose.
  for (const { index } of text.matchAll(/\{\s*["}]/g)) {
    if (index < from) continue
    if (tried++ === MAX_BEGINNINGS) return []
    const end = endOfObject(text, index)
    const value = end === undefined ? undefined : valueOf(text.slice(index, end))
    found.push(value)
    if (end !== undefined && value !== undefined) from = end
  }
  return found
}

/** Returns the value if all objects are equal. Of different ones, any may be quoted from the examined text. */
export const onlyOf = <A>(values: ReadonlyArray<A>): A | undefined =>
  values.every((value) => Equal.equals(value, values[0])) ? values[0] : undefined

const valueOf = (text: string): JsonObject | undefined => {
  const value = jsonFault(text, JSON_LIMITS) === undefined ? parseJson(text) : undefined
  return isObject(value) ? value : undefined
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN = 0x7b
const CLOSE = 0x7d

/** The end of the object that begins at `begin`, by its braces outside of strings. */
const endOfObject = (text: string, begin: number): number | undefined => {
  let depth = 0
  let inString = false
  for (let at = begin; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (inString) {
      if (code === BACKSLASH) at++
      else if (code === QUOTE) inString = false
    } else if (code === QUOTE) inString = true
    else if (code === OPEN) depth++
    else if (code === CLOSE && --depth === 0) return at + 1
  }
  return undefined
}
