/** The text in the chunks of a stream. */
import { isObject, type JsonObject } from "../../domain/json/json.ts"

/** The text that `chunk` adds to the answer that it is streamed for, of whichever API; of choices, to the first one. */
export const deltaText = (chunk: JsonObject): string => {
  const { choices, delta, type } = chunk
  if (type === "response.output_text.delta") return textOf(delta)
  if (type === "content_block_delta") return textOf(isObject(delta) && delta["text"])
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined
  if (!isObject(choice) || choice["index"] !== 0) return ""
  return textOf(isObject(choice["delta"]) && choice["delta"]["content"])
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")
