/** Usage of OpenAI-compatible servers. */
import { Option, Schema } from "effect"
import { Usage } from "../../../../domain/chat/chat.ts"
import { plausibleUsage } from "../shared/plausibleUsage.ts"
import { isObject, type JsonObject } from "../../../../domain/json/json.ts"
import * as Wire from "./Wire.ts"

const decodeWire = Schema.decodeUnknownOption(Wire.Usage)
const decode = Schema.decodeUnknownOption(Usage)

/** Returns the usage in `value`, or `null` if it lacks the counts of prompt or answer. */
export const usageOf = (value: unknown): Usage | null => {
  if (value == null) return null
  const wire = Option.getOrUndefined(decodeWire(value))
  if (wire?.prompt_tokens == null || wire.completion_tokens == null) return null
  const { prompt_tokens, prompt_tokens_details, completion_tokens_details, ...rest } = wire
  const reasoning = isObject(completion_tokens_details) ? completion_tokens_details["reasoning_tokens"] : undefined
  const details = detailsOf(prompt_tokens_details, wire)
  // xAI counts reasoning beside the completion, which only the total shows. So does Google, without details. Some gateways
  // count what the cache read or wrote beside the prompt.
  const beside = (wire.total_tokens ?? 0) - prompt_tokens - wire.completion_tokens
  const isOfCache =
    "cache_read_input_tokens" in wire ||
    "cache_creation_input_tokens" in wire ||
    (isObject(details) && Number(details["cached_tokens"]) > prompt_tokens)
  const isThought = beside > 0 && (reasoning ? reasoning === beside : !isOfCache)
  const completion_tokens = wire.completion_tokens + (isThought ? beside : 0)
  const counts = {
    ...rest,
    prompt_tokens,
    completion_tokens,
    total_tokens: wire.total_tokens ?? prompt_tokens + completion_tokens,
  }
  // Details of an unknown form must not make the counts unknown.
  return Option.getOrElse(
    decode({
      ...counts,
      ...(details == null ? {} : { prompt_tokens_details: details }),
      ...(completion_tokens_details == null ? {} : { completion_tokens_details }),
    }),
    () => plausibleUsage(counts) ?? null,
  )
}

/** Moonshot counts tokens from the cache in `cached_tokens`, DeepSeek in `prompt_cache_hit_tokens`. */
const detailsOf = (details: unknown, wire: JsonObject): unknown => {
  const cached = wire["cached_tokens"] ?? wire["prompt_cache_hit_tokens"]
  if (cached == null || !(details == null || isObject(details)) || details?.["cached_tokens"] != null) return details
  return { ...details, cached_tokens: cached }
}
