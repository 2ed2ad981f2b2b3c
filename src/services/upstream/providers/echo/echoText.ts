/** Reads, splits and counts texts for the echo. */
import type { Message } from "../../../../domain/chat/chat.ts"

/** Returns the plain text of a message, without images and other parts. */
export const textOf = (content: Message["content"]): string => {
  if (typeof content === "string") return content
  if (!Array.isArray(content)) return ""
  return content.map((part) => (typeof part["text"] === "string" ? part["text"] : "")).join("")
}

/** Splits a text into words that keep their white space, so that joining them gives the text back. */
export const words = (text: string): ReadonlyArray<string> => {
  const start = text.length - text.trimStart().length
  const [first = "", ...rest] = text.match(/\S+\s*/g) ?? []
  return text === "" ? [] : [text.slice(0, start) + first, ...rest]
}

export const countTokens = (text: string): number => text.split(/\s+/).filter((word) => word !== "").length
