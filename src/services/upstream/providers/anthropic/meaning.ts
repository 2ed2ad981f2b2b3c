/** What stop reasons and token counts of the Messages API mean in Chat Completions. */
import type { Usage } from "../../../../domain/chat.ts"
import type * as Wire from "./Wire.ts"

/** `pause_turn` and a full context window leave an answer unfinished as surely as a token limit does. */
const FINISH_REASONS: ReadonlyMap<string, string> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["pause_turn", "length"],
  ["tool_use", "tool_calls"],
  ["refusal", "content_filter"],
])

/** The finish reason for `stopReason`; one that came after this was written is passed on as it is. */
export const finishReason = (stopReason: string): string => FINISH_REASONS.get(stopReason) ?? stopReason

/** `input_tokens` leaves out what the prompt cache read or wrote; `prompt_tokens` is all of the prompt. */
export const usageOf = (wire: Wire.Usage | null | undefined): Usage | undefined => {
  if (wire?.output_tokens == null) return undefined
  const read = wire.cache_read_input_tokens ?? 0
  const written = wire.cache_creation_input_tokens ?? 0
  const prompt = (wire.input_tokens ?? 0) + read + written
  const reasoning = wire.output_tokens_details?.thinking_tokens
  return {
    prompt_tokens: prompt,
    completion_tokens: wire.output_tokens,
    total_tokens: prompt + wire.output_tokens,
    prompt_tokens_details: { cached_tokens: read, cache_write_tokens: written },
    ...(reasoning == null ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }),
  }
}

/** Counts of `later`, which are cumulative, over those of `earlier`. */
export const mergeUsage = (
  earlier: Wire.Usage | null | undefined,
  later: Wire.Usage | null | undefined,
): Wire.Usage | undefined => {
  if (later == null) return earlier ?? undefined
  const merged = { ...earlier }
  for (const [name, count] of Object.entries(later)) if (count != null) Object.assign(merged, { [name]: count })
  return merged
}
