/** Time, key, nonce, configuration and policy for evidence of any format. */
import { createHash } from "node:crypto"
import { bindingOf, rootOf } from "../../../src/attestation/binding.ts"
import type { ProxyEvidence } from "../../../src/attestation/evidence.ts"
import type { Accepted, EvidencePolicy } from "../../../src/attestation/policy.ts"
import { PINNED_ROOTS } from "../../../src/attestation/roots.ts"
import type { AttestationCheck } from "../../../src/attestation/verifyAttestation.ts"
import { utf8 } from "../../../src/domain/bytes/bytes.ts"
import { ACCEPTED_CONFIGURATION, CONFIGURATION } from "./configuration.ts"

/** Seconds since the epoch. */
export const NOW = Date.parse("2026-06-01T12:00:00Z") / 1000

const NONCE = new Uint8Array(32).fill(7)
const KID = new Uint8Array(32).fill(9)
const CONFIGURATION_BYTES = utf8(JSON.stringify(CONFIGURATION))
const PATH = { index: 0, size: 1, hashes: [] }

/** The binding that all evidence of tests contains. */
export const BINDING = bindingOf({
  kid: KID,
  configuration: CONFIGURATION_BYTES,
  root: rootOf(NONCE, PATH) ?? new Uint8Array(32),
})

export const policyFor = (...accept: ReadonlyArray<Accepted>): EvidencePolicy => ({
  accept,
  configuration: ACCEPTED_CONFIGURATION,
  deny: { chips: [], kids: [] },
  expires: NOW + 7 * 86_400,
})

/** A check that passes if evidence, collateral and roots belong together. */
export const checkFor = (
  evidence: Pick<ProxyEvidence, "format" | "report" | "collateral">,
  rest: Pick<AttestationCheck, "collateral"> & {
    readonly accept: Accepted
    readonly roots: Partial<AttestationCheck["roots"]>
  },
): AttestationCheck => ({
  evidence: { kid: KID, configuration: CONFIGURATION_BYTES, path: PATH, ...evidence },
  collateral: rest.collateral,
  nonce: NONCE,
  policy: policyFor(rest.accept),
  now: NOW,
  roots: { ...PINNED_ROOTS, ...rest.roots },
})

/** SHA-256 in lower-case hexadecimal. */
export const fingerprint = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")
