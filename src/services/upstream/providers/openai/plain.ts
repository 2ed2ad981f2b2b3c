/** Recognizes the most common answers without their schemas: text, whole or in pieces, and usage. */
import { MAX_TOKENS, type Usage } from "../../../../domain/chat/chat.ts"
import { isObject, type JsonObject } from "../../../../domain/json/json.ts"
import type * as Wire from "./Wire.ts"

/** Whether `json` is a whole answer without tool calls and parts, which the schema would not change. */
export const isPlainCompletion = (json: unknown): json is Wire.Completion =>
  isObject(json) && Array.isArray(json["choices"]) && json["choices"].length > 0 && json["choices"].every(isPlainAnswer)

/** The same for a chunk. */
export const isPlainChunk = (json: unknown): json is Wire.Chunk =>
  isObject(json) && Array.isArray(json["choices"]) && json["choices"].every(isPlainPiece)

/**
 * Whether `json` is usage that neither schema would change: with all its counts, and details that are counts or absent.
 */
export const isPlainUsage = (json: unknown): json is Usage =>
  isObject(json) &&
  isTokenCount(json["prompt_tokens"]) &&
  isTokenCount(json["completion_tokens"]) &&
  isTokenCount(json["total_tokens"]) &&
  isPlainDetails(json, "prompt_tokens_details", "cached_tokens", "cache_write_tokens") &&
  isPlainDetails(json, "completion_tokens_details", "reasoning_tokens")

const isPlainAnswer = (choice: unknown): boolean =>
  isObject(choice) && isPlainChoice(choice) && isPlainMessage(choice["message"])

const isPlainPiece = (choice: unknown): boolean =>
  isObject(choice) && isPlainChoice(choice) && isPlainMessage(choice["delta"]) && isText(choice["delta"]["role"])

const isPlainChoice = (choice: JsonObject): boolean =>
  (choice["index"] == null || isCount(choice["index"])) && isText(choice["finish_reason"])

const isPlainMessage = (message: unknown): message is JsonObject =>
  isObject(message) && isText(message["content"]) && isText(message["refusal"]) && message["tool_calls"] == null

/** The schema removes details that are `null`, so they are not plain. */
const isPlainDetails = (usage: JsonObject, name: string, ...counts: ReadonlyArray<string>): boolean => {
  const details = usage[name]
  if (details === undefined) return !Object.hasOwn(usage, name)
  return isObject(details) && counts.every((count) => details[count] == null || isTokenCount(details[count]))
}

const isCount = (value: unknown): boolean => typeof value === "number" && Number.isSafeInteger(value) && value >= 0

const isTokenCount = (value: unknown): boolean => isCount(value) && Number(value) <= MAX_TOKENS

const isText = (value: unknown): boolean => value == null || typeof value === "string"
