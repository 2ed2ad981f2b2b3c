import { isObject, type JsonObject } from "../../domain/json/json.ts"

/** Returns the text that a chunk of any API adds to the answer, or to its first choice. */
export const deltaText = (chunk: JsonObject): string => {
  const { choices, delta, type } = chunk
  if (type === "response.output_text.delta") return textOf(delta)
  if (type === "content_block_delta") return textOf(isObject(delta) && delta["text"])
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined
  if (!isObject(choice) || choice["index"] !== 0) return ""
  return textOf(isObject(choice["delta"]) && choice["delta"]["content"])
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")
