/**
 * Finds the JSON in a model's answer. It takes linear time, because the answer is stored before it is read: one that
 * took forever to read would block one process after another.
 */
import { JSON_LIMITS, jsonFault } from "../../../../domain/iJson.ts"

/** More than any critique, and than any answer that a revision repeats. */
export const MAX_JSON_CHARS = 1024 * 1024
/** How many braces of prose may precede the one that begins the object. */
const MAX_BEGINNINGS = 16

/**
 * The first JSON object in a text, wherever it stands: models fence and introduce JSON even when told not to.
 * `undefined` if there is none, or too much to search. Linear: the text is read at most {@link MAX_BEGINNINGS} times.
 */
export const jsonIn = (text: string): string | undefined => {
  if (text.length > MAX_JSON_CHARS) return undefined
  let begin = text.indexOf("{")
  for (let tried = 0; begin >= 0 && tried < MAX_BEGINNINGS; tried++) {
    const end = endOfObject(text, begin)
    const json = end === undefined ? undefined : text.slice(begin, end)
    if (json !== undefined && isJson(json)) return json
    begin = text.indexOf("{", begin + 1)
  }
  return undefined
}

const isJson = (text: string): boolean => {
  if (jsonFault(text, JSON_LIMITS) !== undefined) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
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
