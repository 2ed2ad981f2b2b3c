/** How answers look on a terminal. */
import { type SealgateError, SealedProblem, Unreachable } from "../../client/errors.ts"
import type { StreamEnd } from "../../client/SealedStream.ts"

/** What a model says, without the control characters with which it could move the cursor, or worse. */
export const printable = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- those are what this is about
  text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "")

const NOT_FOUND = 404

/** What went wrong, and what to look at when it is the address. */
export const explained = (error: SealgateError): string => {
  const hint =
    error instanceof Unreachable
      ? "\n`sealgate doctor --proxy <url>` finds out why."
      : error instanceof SealedProblem && error.problem.status === NOT_FOUND
        ? "\nIs this a sealed proxy? `sealgate proxy` listens on port 3001, the gateway on 3000."
        : ""
  return printable(error.message) + hint
}

/** One line that says what was verified, and who answered. */
export const summary = ({ receipt }: StreamEnd): string => {
  const usage = receipt.usage
  const tokens =
    usage === null ? "" : ` · ${String(usage["prompt_tokens"])} tokens in, ${String(usage["completion_tokens"])} out`
  return printable(`✓ receipt and proof verified · ${receipt.provider}/${receipt.model}${tokens} · ${receipt.jti}`)
}
