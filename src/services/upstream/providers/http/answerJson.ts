/** Parses the JSON that providers send. */
import { CLIENT_LIMITS } from "../../../../domain/json/iJson.ts"
import { isDeeper, parseJson } from "../../../../domain/json/json.ts"

/** The levels that a frame adds: an object and a list around its content. */
const LEVELS = CLIENT_LIMITS.depth - 2

/** The value of a JSON text; `undefined` if malformed or deeper than clients accept: they would report tampering. */
export const answerJson = (text: string): unknown => {
  const value = parseJson(text)
  // Each level takes two characters, so most events are too short to need a check.
  return text.length > 2 * LEVELS && isDeeper(value, LEVELS) ? undefined : value
}
