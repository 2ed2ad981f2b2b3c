/** Texts as the echo takes and counts them. */
import type { Message } from "../../../../domain/chat/chat.ts"

/** The plain text of a message, images and other parts left out. */
export const textOf = (content: Message["content"]): string => {
  if (typeof content === "string") return content
  if (!Array.isArray(content)) return ""
  return content.map((part) => (typeof part["text"] === "string" ? part["text"] : "")).join("")
}

/** Words with the white space around them, so that joining them gives the text back. */
export const words = (text: string): ReadonlyArray<string> => {
  const start = text.length - text.trimStart().length
  const [first = "", ...rest] = text.match(/\S+\s*/g) ?? []
  return text === "" ? [] : [text.slice(0, start) + first, ...rest]
}

export const countTokens = (text: string): number => text.split(/\s+/).filter((word) => word !== "").length
