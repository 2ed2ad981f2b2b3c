/** What finish reasons of the Gemini API mean in Chat Completions. */

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

/** Why a candidate, or a prompt, ended; `undefined` while it has not. Enumerations have a name for no value, too. */
export const given = (reason: string | null | undefined): string | undefined =>
  !reason || reason.endsWith("_UNSPECIFIED") ? undefined : reason
