/** JSON of unknown content. JSON from untrusted senders is read as I-JSON instead, see `iJson.ts`. */

export type JsonObject = Readonly<Record<string, unknown>>

/** Whether a value is an object with members, which an array is not. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Whether a value has more levels of arrays and objects than `levels`. */
export const isDeeper = (value: unknown, levels: number): boolean => {
  if (typeof value !== "object" || value === null) return false
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1))
}

/** The value of a JSON text; `undefined` if the text is not JSON. */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
