/**
 * Finds the JSON in a model's answer, in linear time: the answer is stored before it is read, so one that took forever
 * to read would block one process after another.
 */
import { JSON_LIMITS, jsonFault } from "../../../../domain/json/iJson.ts"

/** Larger than any critique and any answer that a revision repeats. */
export const MAX_JSON_CHARS = 1024 * 1024
/** How many braces of prose may precede the object. */
const MAX_BEGINNINGS = 16

/**
 * Returns the first JSON object in a text, wherever it stands: models fence and introduce JSON despite instructions.
 * Returns `undefined` if there is none, or too much to search. Linear: the text is read at most {@link MAX_BEGINNINGS}
 * times.
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

/** Parses a JSON object; `undefined` if it is invalid or too long. */
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
