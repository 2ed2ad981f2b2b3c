/** JSON of unknown content. JSON from untrusted senders is read as I-JSON instead, see `iJson.ts`. */

export type JsonObject = Readonly<Record<string, unknown>>

/** Whether a value is an object with members, which an array is not. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The value of a JSON text, or `undefined`, which no JSON text has as its value. */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
