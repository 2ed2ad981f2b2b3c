/**
 * The JSON in what a model wrote. Models write what they like, and what they wrote is stored before it is read: an
 * answer that takes for ever to read would stop one process after another.
 */
import { JSON_LIMITS, jsonFault } from "../../../domain/iJson.ts"

/** More than any critique, and than any answer that a revision repeats. */
export const MAX_JSON_CHARS = 1024 * 1024

const FENCE = "```"
const LANGUAGE = "json"

/** Text to be parsed; `undefined` where there is too much of it. */
export const jsonIn = (text: string): string | undefined => {
  if (text.length > MAX_JSON_CHARS) return undefined
  const json = withoutFence(text.trim())
  return jsonFault(json, JSON_LIMITS) === undefined ? json : undefined
}

/** Some models fence JSON in spite of all requests. */
const withoutFence = (text: string): string => {
  if (text.length < 2 * FENCE.length || !text.startsWith(FENCE) || !text.endsWith(FENCE)) return text
  const inside = text.slice(FENCE.length, -FENCE.length)
  return (inside.startsWith(LANGUAGE) ? inside.slice(LANGUAGE.length) : inside).trim()
}
