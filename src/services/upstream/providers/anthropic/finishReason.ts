/** The finish reasons of Chat Completions for the stop reasons of the Messages API. */
import { Option, Schema } from "effect"
import * as Wire from "./Wire.ts"

/** After `pause_turn`, or with a full context window, an answer is as incomplete as at a token limit. */
const FINISH_REASONS: ReadonlyMap<string, string> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["pause_turn", "length"],
  ["tool_use", "tool_calls"],
  ["refusal", "content_filter"],
  /** GLM */
  ["sensitive", "content_filter"],
])

/** The finish reason for `stopReason`. Unknown stop reasons are passed on unchanged. */
export const finishReason = (stopReason: string): string => FINISH_REASONS.get(stopReason) ?? stopReason

/** Returns why an answer stopped, or `undefined` while it has not. */
export const stopOf = (
  stop: Wire.Stop | null | undefined,
): { readonly reason: string; readonly refusal: string | undefined } | undefined => {
  if (!stop?.stop_reason) return undefined
  const details = Option.getOrUndefined(decodeDetails(stop.stop_details))
  return { reason: stop.stop_reason, refusal: details?.explanation ?? undefined }
}
const decodeDetails = Schema.decodeUnknownOption(Wire.StopDetails)
