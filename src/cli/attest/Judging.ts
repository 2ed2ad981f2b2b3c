import { Context } from "effect"
import type { JudgeOptions } from "../../client/attestation/readPolicy.ts"

/** How the command judges evidence: by the pinned roots. No flag or setting changes that; tests replace it. */
export const Judging = Context.Reference<Omit<JudgeOptions, "now">>("sealgate/cli/attest/Judging", {
  defaultValue: () => ({}),
})
