/**
 * What JSON from outside may be beside long. Parsing takes any shape, but what comes after it pays by the level and by
 * the value: a megabyte of brackets would be half a million of either.
 */

/** Levels of arrays and objects within each other. Schemas of tools, the deepest there is, take two per level. */
export const MAX_JSON_DEPTH = 64
/** Array elements and object members, counted over the whole text. */
export const MAX_JSON_VALUES = 32_768

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** Where the string that begins at `start` ends: at its closing quote, or with the text. */
const endOfString = (text: string, start: number): number => {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return end
  }
  return text.length
}

/**
 * Whether `text`, if it is JSON, stays within {@link MAX_JSON_DEPTH} and {@link MAX_JSON_VALUES}. To be asked before it
 * is parsed; takes one pass over the text and no memory. Says nothing about text that is not JSON.
 */
export const isWithinJsonLimits = (text: string): boolean => {
  let depth = 0
  let values = 1
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case QUOTE:
        i = endOfString(text, i)
        break
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        if (++depth > MAX_JSON_DEPTH || ++values > MAX_JSON_VALUES) return false
        break
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        depth--
        break
      case COMMA:
        if (++values > MAX_JSON_VALUES) return false
        break
    }
  }
  return true
}

/** What those are told who sent more. */
export const JSON_LIMITS_DETAIL = `At most ${MAX_JSON_DEPTH} levels and ${MAX_JSON_VALUES} values are accepted.`
