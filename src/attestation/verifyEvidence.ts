/** Verifies evidence against nonce, policy and roots. Pure: clock, policy and roots are parameters. */
import { encodeBase64Url } from "../domain/bytes/bytes.ts"
import { bindingOf, rootOf } from "./binding.ts"
import { checkConfiguration } from "./configuration.ts"
import type { Evidence, Verified } from "./evidence.ts"
import { EvidenceFailure, must } from "./failure.ts"
import type { FormatFacts } from "./format.ts"
import type { Accepted, EvidencePolicy } from "./policy.ts"
import type { EvidenceRoots } from "./roots.ts"
import { verifySevSnp } from "./sevSnp/verify.ts"
import { verifyTdx } from "./tdx/verify.ts"

export interface EvidenceCheck {
  readonly evidence: Evidence
  /** The 32 bytes that the client sent. */
  readonly nonce: Uint8Array
  readonly policy: EvidencePolicy
  /** Seconds since the epoch. */
  readonly now: number
  readonly roots: EvidenceRoots
}

const entriesOf = <Format extends Accepted["format"]>(policy: EvidencePolicy, format: Format) => {
  const entries = policy.accept.filter(
    (entry): entry is Extract<Accepted, { readonly format: Format }> => entry.format === format,
  )
  must(entries.length > 0, "format-not-accepted", `The policy does not accept evidence of ${format}.`)
  return entries
}

const factsOf = ({ evidence, policy, now, roots }: EvidenceCheck, binding: Uint8Array): FormatFacts => {
  const common = { evidence, binding, deny: policy.deny, now, roots }
  const { format } = evidence
  if (format === "sev-snp") return verifySevSnp({ ...common, accepted: entriesOf(policy, format) })
  if (format === "tdx") return verifyTdx({ ...common, accepted: entriesOf(policy, format) })
  if (format === "dstack") return verifyTdx({ ...common, accepted: entriesOf(policy, format) })
  throw new EvidenceFailure("format-not-accepted", `This version does not verify evidence of ${format}.`)
}

/**
 * Returns the facts that the evidence proves. Throws an `EvidenceFailure` with a code at the first check that fails; needs
 * Node's crypto.
 */
export const verifyEvidence = (check: EvidenceCheck): Verified => {
  const { evidence, nonce, policy, now } = check
  must(now < policy.expires, "policy-expired", "The policy has expired. Get a newer one from its signer.")
  const kid = encodeBase64Url(evidence.kid)
  must(!policy.deny.kids.includes(kid), "kid-denied", "The policy denies this key.")
  const root = rootOf(nonce, evidence.path)
  must(root !== undefined, "path-wrong", "The path does not lead from the nonce to a root.")
  const binding = bindingOf({ kid: evidence.kid, configuration: evidence.configuration, root })
  const facts = factsOf(check, binding)
  checkConfiguration(evidence.configuration, policy)
  return { format: evidence.format, kid, ...facts, validUntil: Math.min(facts.validUntil, policy.expires) }
}
