import { isObject, type JsonObject, parseJson } from "../../domain/json/json.ts"

/** The JSON object that `text` is, or an empty one. */
export const objectIn = (text: string): JsonObject => {
  const value = parseJson(text)
  return isObject(value) ? value : {}
}
