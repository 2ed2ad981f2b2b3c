/** Usage of the Messages API. */
import { Option, Schema } from "effect"
import type { Usage } from "../../../../domain/chat/chat.ts"
import { plausibleUsage } from "../shared/plausibleUsage.ts"
import * as Wire from "./Wire.ts"

export const countsOf = (value: unknown): Wire.Usage | undefined => Option.getOrUndefined(decodeUsage(value))
const decodeUsage = Schema.decodeUnknownOption(Wire.Usage)

/** `input_tokens` does not include tokens that the prompt cache read or wrote; `prompt_tokens` includes them. */
export const usageOf = (wire: Wire.Usage | undefined): Usage | undefined => {
  if (wire?.output_tokens == null) return undefined
  const read = wire.cache_read_input_tokens ?? 0
  const written = wire.cache_creation_input_tokens ?? 0
  const prompt = (wire.input_tokens ?? 0) + read + written
  const reasoning = wire.output_tokens_details?.thinking_tokens
  return plausibleUsage({
    prompt_tokens: prompt,
    completion_tokens: wire.output_tokens,
    total_tokens: prompt + wire.output_tokens,
    prompt_tokens_details: { cached_tokens: read, cache_write_tokens: written },
    ...(reasoning == null ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }),
  })
}

/** The counts of `later`, which are cumulative, completed with those of `earlier`. */
export const mergeUsage = (earlier: Wire.Usage | undefined, later: Wire.Usage): Wire.Usage => {
  const merged = { ...earlier }
  for (const [name, count] of Object.entries(later)) if (count != null) Object.assign(merged, { [name]: count })
  return merged
}
