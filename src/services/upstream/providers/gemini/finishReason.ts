/** The finish reasons of Chat Completions for those of the Gemini API. */

/**
 * A reason that is neither a natural end nor a limit means that content was withheld or unusable. It becomes
 * `content_filter`, the only finish reason that keeps callers from treating the answer as complete.
 */
const FINISH_REASONS: ReadonlyMap<string, string> = new Map([
  ["STOP", "stop"],
  ["MAX_TOKENS", "length"],
  // The answer continues in a further request, which is possible only in a conversation at Google.
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

/** The finish reason for `reason`. Unknown ones are passed on unchanged. */
export const finishReason = (reason: string, calledTools: boolean): string =>
  reason === "STOP" && calledTools ? "tool_calls" : (FINISH_REASONS.get(reason) ?? reason)

/**
 * Returns why a candidate or a prompt ended, or `undefined` if it has not. The API's enumerations also have a name for
 * "unspecified".
 */
export const given = (reason: string | null | undefined): string | undefined =>
  !reason || reason.endsWith("_UNSPECIFIED") ? undefined : reason
