/** Parameters and result of the verifier of one format. */
import type { ProxyEvidence, VerifiedAttestation } from "./evidence.ts"
import type { Accepted, EvidencePolicy } from "./policy.ts"
import type { EvidenceRoots } from "./roots.ts"

export interface FormatCheck<Entry extends Accepted> {
  readonly evidence: ProxyEvidence
  /** The 32 bytes that the evidence must carry. */
  readonly binding: Uint8Array
  /** The policy's entries of this format, at least one. */
  readonly accepted: ReadonlyArray<Entry>
  readonly deny: EvidencePolicy["deny"]
  /** Seconds since the epoch. */
  readonly now: number
  readonly roots: EvidenceRoots
}

export type FormatFacts = Omit<VerifiedAttestation, "format" | "kid">
