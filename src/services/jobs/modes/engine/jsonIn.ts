/**
 * Finds the JSON in a model's answer. It takes linear time, because the answer is stored before it is read: one that
 * took forever to read would block one process after another.
 */
import { JSON_LIMITS, jsonFault } from "../../../../domain/json/iJson.ts"

/** More than any critique, and than any answer that a revision repeats. */
export const MAX_JSON_CHARS = 1024 * 1024
/** How many braces of prose may precede the one that begins the object. */
const MAX_BEGINNINGS = 16

/**
 * The value of the first JSON object in a text, wherever it stands: models fence and introduce JSON even when told not to.
 * `undefined` if there is none, or too much to search. Linear: the text is read at most {@link MAX_BEGINNINGS} times.
 */
export const jsonIn = (text: string): unknown => {
  if (text.length > MAX_JSON_CHARS) return undefined
  let begin = text.indexOf("{")
  for (let tried = 0; begin >= 0 && tried < MAX_BEGINNINGS; tried++) {
    const end = endOfObject(text, begin)
    const value = end === undefined ? undefined : valueOf(text.slice(begin, end))
    if (value !== undefined) return value
    begin = text.indexOf("{", begin + 1)
  }
  return undefined
}

/** What JSON of an object says; `undefined` if it is none, or more than is read. */
const valueOf = (text: string): unknown => {
  if (jsonFault(text, JSON_LIMITS) !== undefined) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN = 0x7b
const CLOSE = 0x7d

/** Where the object that begins at `begin` ends, by its braces; those inside of strings do not count. */
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
