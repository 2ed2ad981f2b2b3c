import { verifyAttestation } from "../../../src/attestation/verifyAttestation.ts"
import type { AttestationCheck } from "../../../src/attestation/verifyAttestation.ts"
import type { EvidenceFailureCode } from "../../../src/attestation/failure.ts"

/** One mistake, the code of its refusal, and the call that must refuse it. */
export type Refusal = readonly [name: string, code: EvidenceFailureCode, run: () => unknown]

/** Rows of checks that `verifyAttestation` must refuse. */
export const refusalsOf = <Wish>(
  make: (wish: Wish) => AttestationCheck,
  rows: ReadonlyArray<readonly [name: string, code: EvidenceFailureCode, wish: Wish]>,
): ReadonlyArray<Refusal> => rows.map(([name, code, wish]) => [name, code, () => verifyAttestation(make(wish))])
