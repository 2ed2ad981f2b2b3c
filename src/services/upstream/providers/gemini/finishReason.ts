/** The finish reasons of Chat Completions for those of the Gemini API. */

/** The model wrote something that the server cannot read. The next attempt may succeed. */
export const BROKEN: ReadonlySet<string> = new Set([
  "MALFORMED_FUNCTION_CALL",
  "MALFORMED_RESPONSE",
  "UNEXPECTED_TOOL_CALL",
])

/** Content was withheld or unusable: only `content_filter` keeps callers from taking the answer for complete. */
const WITHHELD: ReadonlySet<string> = new Set([
  "SAFETY",
  "RECITATION",
  "LANGUAGE",
  "OTHER",
  "BLOCKLIST",
  "PROHIBITED_CONTENT",
  "SPII",
  "TOO_MANY_TOOL_CALLS",
  "MISSING_THOUGHT_SIGNATURE",
  "IMAGE_SAFETY",
  "IMAGE_PROHIBITED_CONTENT",
  "IMAGE_RECITATION",
  "IMAGE_OTHER",
  "NO_IMAGE",
])

/** The finish reason for `reason`. Unknown ones are passed on unchanged. */
export const finishReason = (reason: string, calledTools: boolean): string => {
  if (reason === "STOP") return calledTools ? "tool_calls" : "stop"
  // Only a conversation stored at Google can be continued.
  if (reason === "MAX_TOKENS" || reason === "CONTINUATION") return "length"
  return WITHHELD.has(reason) ? "content_filter" : reason
}

/** Returns why a candidate or prompt ended; `undefined` if it has not, or it is "unspecified". */
export const given = (reason: string | null | undefined): string | undefined =>
  !reason || reason.endsWith("_UNSPECIFIED") ? undefined : reason
