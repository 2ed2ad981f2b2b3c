/** How answers look on a terminal. */
import { type SealgateError, SealedProblem, Unreachable } from "../../client/errors.ts"
import type { StreamEnd } from "../../client/SealedStream.ts"
import { printableLine } from "../printable.ts"

const NOT_FOUND = 404

/** What went wrong, and what to look at when it is the address. */
export const explained = (error: SealgateError): string => {
  const hint =
    error instanceof Unreachable
      ? "\nCheck --proxy, or SEALGATE_PROXY; `sealgate doctor` finds out more."
      : error instanceof SealedProblem && error.problem.status === NOT_FOUND
        ? "\nIs this a sealed proxy? `sealgate proxy` listens on port 3001, the gateway on 3000."
        : ""
  return printableLine(error.message) + hint
}

/** One line that says what was verified, and who answered. */
export const summary = ({ receipt }: StreamEnd): string => {
  const usage = receipt.usage
  const tokens =
    usage === null ? "" : ` · ${String(usage["prompt_tokens"])} tokens in, ${String(usage["completion_tokens"])} out`
  return printableLine(`✓ receipt and proof verified · ${receipt.provider}/${receipt.model}${tokens} · ${receipt.jti}`)
}
