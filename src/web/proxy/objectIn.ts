import { isObject, type JsonObject } from "../../client/decode.ts"

/** The JSON object that `text` is, or an empty one. */
export const objectIn = (text: string): JsonObject => {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}
