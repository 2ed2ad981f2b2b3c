/** Verifies evidence against nonce, policy and roots. Pure: clock, policy and roots are parameters. */
import { encodeBase64Url } from "../domain/bytes/bytes.ts"
import { bindingOf, rootOf } from "./binding.ts"
import type { Evidence, Verified } from "./evidence.ts"
import { EvidenceFailure, must } from "./failure.ts"
import type { EvidencePolicy } from "./policy.ts"
import type { EvidenceRoots } from "./roots.ts"

export interface EvidenceCheck {
  readonly evidence: Evidence
  /** The 32 bytes that the client sent. */
  readonly nonce: Uint8Array
  readonly policy: EvidencePolicy
  /** Seconds since the epoch. */
  readonly now: number
  readonly roots: EvidenceRoots
}

/**
 * Returns the facts that the evidence proves. Throws an `EvidenceFailure` with a code at the first check that fails; needs
 * Node's crypto.
 */
export const verifyEvidence = ({ evidence, nonce, policy, now }: EvidenceCheck): Verified => {
  must(now < policy.expires, "policy-expired", "The policy has expired. Get a newer one from its signer.")
  const kid = encodeBase64Url(evidence.kid)
  must(!policy.deny.kids.includes(kid), "kid-denied", "The policy denies this key.")
  const root = rootOf(nonce, evidence.path)
  must(root !== undefined, "path-wrong", "The path does not lead from the nonce to a root.")
  bindingOf({ kid: evidence.kid, configuration: evidence.configuration, root })
  throw new EvidenceFailure("format-not-accepted", `The policy does not accept evidence of ${evidence.format}.`)
}
