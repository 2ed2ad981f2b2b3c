import { isObject, type JsonObject, parseJson } from "../../domain/json/json.ts"

/** Parses a JSON object; anything else becomes an empty one. */
export const objectIn = (text: string): JsonObject => {
  const value = parseJson(text)
  return isObject(value) ? value : {}
}
