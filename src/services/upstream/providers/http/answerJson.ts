/** JSON that providers send. */
import { CLIENT_LIMITS } from "../../../../domain/json/iJson.ts"
import { parseJson } from "../../../../domain/json/json.ts"

/** A frame has an object and a list around what it holds. */
const LEVELS = CLIENT_LIMITS.depth - 2

/**
 * The value of a JSON text; `undefined` if it is none, or has more levels than clients accept: they would say that the
 * answer was tampered with.
 */
export const answerJson = (text: string): unknown => {
  const value = parseJson(text)
  // Every level takes two characters, so most events need not be looked through.
  return text.length > 2 * LEVELS && isDeeper(value, LEVELS) ? undefined : value
}

const isDeeper = (value: unknown, levels: number): boolean => {
  if (typeof value !== "object" || value === null) return false
  const members: ReadonlyArray<unknown> = Array.isArray(value) ? value : Object.values(value)
  return levels === 0 || members.some((member) => isDeeper(member, levels - 1))
}
