/** Recognizes without its schema the chunk that nearly all are: pieces of text, which is what costs in a stream. */
import { isObject } from "../../../../domain/json.ts"
import type * as Wire from "./Wire.ts"

/** Whether `json` is a chunk without tool calls and parts, which the schema would pass as it is. */
export const isPlainChunk = (json: unknown): json is Wire.Chunk =>
  isObject(json) && Array.isArray(json["choices"]) && json["choices"].every(isPlainChoice)

const isPlainChoice = (choice: unknown): boolean =>
  isObject(choice) && isIndex(choice["index"]) && isText(choice["finish_reason"]) && isPlainDelta(choice["delta"])

const isPlainDelta = (delta: unknown): boolean =>
  isObject(delta) &&
  isText(delta["role"]) &&
  isText(delta["content"]) &&
  isText(delta["refusal"]) &&
  delta["tool_calls"] == null &&
  delta["function_call"] == null

const isIndex = (value: unknown): boolean =>
  value == null || (typeof value === "number" && Number.isSafeInteger(value) && value >= 0)

const isText = (value: unknown): boolean => value == null || typeof value === "string"
