/** How answers look on a terminal. */
import type { StreamEnd } from "../../client/SealedStream.ts"

/** What a model says, without the control characters with which it could move the cursor, or worse. */
export const printable = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- those are what this is about
  text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "")

/** One line that says what was verified, and who answered. */
export const summary = ({ receipt }: StreamEnd): string => {
  const usage = receipt.usage
  const tokens =
    usage === null ? "" : ` · ${String(usage["prompt_tokens"])} tokens in, ${String(usage["completion_tokens"])} out`
  return printable(`✓ receipt and proof verified · ${receipt.provider}/${receipt.model}${tokens} · ${receipt.jti}`)
}
