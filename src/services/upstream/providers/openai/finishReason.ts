/** Finish reasons of OpenAI-compatible servers. */
import type { ProviderFailure } from "../../Provider.ts"
import { failure } from "../shared/providerFailures.ts"

/** The finish reasons of Chat Completions for those that only some servers have. */
const FINISH_REASONS: ReadonlyMap<string, string> = new Map([
  ["content_filter", "content_filter"],
  /** GLM */
  ["sensitive", "content_filter"],
  ["model_context_window_exceeded", "length"],
  /** Mistral */
  ["model_length", "length"],
])

/** The model or its server failed midway. The next attempt may succeed. */
const FAILED: ReadonlyMap<string, "truncated" | "broken"> = new Map([
  /** GLM */
  ["network_error", "truncated"],
  /** SGLang, vLLM */
  ["abort", "truncated"],
  ["aborted", "truncated"],
  /** DeepSeek */
  ["insufficient_system_resource", "truncated"],
  /** Gemini: a malformed tool call. */
  ["function_call_filter", "broken"],
])

/** Gemini adds details after a colon. */
const nameOf = (reason: string): string => reason.split(":", 1)[0] ?? reason

/**
 * Returns the finish reason, or `null` for the values that some servers send while there is none. Unknown ones are
 * passed on unchanged.
 */
export const finishOf = (reason: string | null | undefined): string | null =>
  !reason || reason === "null" ? null : (FINISH_REASONS.get(nameOf(reason)) ?? reason)

/** Returns the failure of an answer that ended for `reason`, unless it is whole. */
export const failedFor = (reason: string): ProviderFailure | undefined => {
  const name = nameOf(reason)
  const kind = FAILED.get(name)
  return kind === undefined ? undefined : failure(kind, reason, { reason: `finish reason ${name}` })
}
