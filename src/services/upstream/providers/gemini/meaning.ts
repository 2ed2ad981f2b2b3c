/** What finish reasons and token counts of the Gemini API mean in Chat Completions. */
import type { Usage } from "../../../../domain/chat.ts"
import type * as Wire from "./Wire.ts"

/**
 * Everything that is neither a natural end nor a limit means that content was withheld, or was not fit to be sent:
 * `content_filter` is the one finish reason that keeps callers from taking the answer for a whole one.
 */
const FINISH_REASONS: ReadonlyMap<string, string> = new Map([
  ["STOP", "stop"],
  ["MAX_TOKENS", "length"],
  // The answer goes on in a further request, which only a conversation at Google can make.
  ["CONTINUATION", "length"],
  ["SAFETY", "content_filter"],
  ["RECITATION", "content_filter"],
  ["LANGUAGE", "content_filter"],
  ["OTHER", "content_filter"],
  ["BLOCKLIST", "content_filter"],
  ["PROHIBITED_CONTENT", "content_filter"],
  ["SPII", "content_filter"],
  ["MALFORMED_FUNCTION_CALL", "content_filter"],
  ["MALFORMED_RESPONSE", "content_filter"],
  ["UNEXPECTED_TOOL_CALL", "content_filter"],
  ["TOO_MANY_TOOL_CALLS", "content_filter"],
  ["MISSING_THOUGHT_SIGNATURE", "content_filter"],
  ["IMAGE_SAFETY", "content_filter"],
  ["IMAGE_PROHIBITED_CONTENT", "content_filter"],
  ["IMAGE_RECITATION", "content_filter"],
  ["IMAGE_OTHER", "content_filter"],
  ["NO_IMAGE", "content_filter"],
])

/** The finish reason for `reason`; one that came after this was written is passed on as it is. */
export const finishReason = (reason: string, calledTools: boolean): string =>
  reason === "STOP" && calledTools ? "tool_calls" : (FINISH_REASONS.get(reason) ?? reason)

/** Thoughts are billed as output. `promptTokenCount` includes what came from a cache. */
export const usageOf = (wire: Wire.Usage | null | undefined): Usage | undefined => {
  if (wire?.promptTokenCount == null) return undefined
  const prompt = wire.promptTokenCount + (wire.toolUsePromptTokenCount ?? 0)
  const thoughts = wire.thoughtsTokenCount ?? 0
  const completion = (wire.candidatesTokenCount ?? 0) + thoughts
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: wire.cachedContentTokenCount ?? 0 },
    completion_tokens_details: { reasoning_tokens: thoughts },
  }
}
