/** Reads, splits and counts texts for the echo. */
import { isObject } from "../../../../domain/json/json.ts"

/** Returns the plain text of a content, without images and other parts. */
export const textOf = (content: unknown): string => {
  if (typeof content === "string") return content
  const parts: ReadonlyArray<unknown> = Array.isArray(content) ? content : []
  return parts.map((part) => (isObject(part) && typeof part["text"] === "string" ? part["text"] : "")).join("")
}

/** Limited because a million words of one request would delay all other requests for a second. */
const MAX_WORDS_LENGTH = 64 * 1024

/** Splits a text into words with their white space, or a long one into pieces of 1,024 characters. */
export const words = (text: string): ReadonlyArray<string> => {
  if (text.length > MAX_WORDS_LENGTH) return text.match(/.{1,1024}/gsu) ?? []
  const start = text.length - text.trimStart().length
  const [first = "", ...rest] = text.match(/\S+\s*/g) ?? []
  return text === "" ? [] : [text.slice(0, start) + first, ...rest]
}

export const countTokens = (text: string): number => words(text).length
