/** Every refusal has a code of its own, and every code a mistake that it refuses. */
import { assert, describe, it } from "@effect/vitest"
import { EVIDENCE_FAILURE_CODES } from "../../src/attestation/failure.ts"
import { decodePolicy } from "../../src/attestation/readPolicy.ts"
import { ANSWER_REFUSALS } from "./refusals/answers.ts"
import { CHAIN_REFUSALS } from "./refusals/chains.ts"
import { CONFIGURATION_REFUSALS } from "./refusals/configurations.ts"
import { DSTACK_REFUSALS } from "./refusals/dstack.ts"
import { POLICY, POLICY_REFUSALS } from "./refusals/policies.ts"
import { SNP_REFUSALS } from "./refusals/snp.ts"
import { SPACE_REFUSALS } from "./refusals/space.ts"
import { TDX_REFUSALS } from "./refusals/tdx.ts"
import { codeOfPromise } from "./support/codeOf.ts"

const GROUPS = {
  answer: ANSWER_REFUSALS,
  configuration: CONFIGURATION_REFUSALS,
  policy: POLICY_REFUSALS,
  chain: CHAIN_REFUSALS,
  "SEV-SNP": SNP_REFUSALS,
  TDX: TDX_REFUSALS,
  dstack: DSTACK_REFUSALS,
  "Confidential Space": SPACE_REFUSALS,
}

for (const [group, refusals] of Object.entries(GROUPS)) {
  describe(group, () => {
    for (const [name, code, run] of refusals) {
      it(`refuses ${name}`, async () => assert.strictEqual(await codeOfPromise((async () => run())()), code))
    }
  })
}

/** Mistakes of other verifiers, and refusals above that such a verifier would not make. */
const MISTAKES = {
  "measurement without signature": ["a measurement without a signature", "a measurement changed after signing"],
  "verify_signature=False": [
    "a token without its signature, as verify_signature=False would read it",
    "the algorithm none",
    "claims changed after signing",
  ],
  "QE vendor never compared (CVE-2026-22696)": ["another vendor of the QE (CVE-2026-22696)"],
  "QE identity never compared": ["another signer of the QE", "a debug QE", "a QE identity that a stranger signed"],
  "skipped CRL": [
    "a skipped PCK list",
    "a skipped revocation list",
    "a revoked PCK certificate",
    "a revoked authority",
  ],
  "skipped TCB": ["a platform that is out of date", "a QE that is out of date", "firmware that can be rolled back"],
  "two nonces side by side": [
    "two nonces side by side",
    "two bindings side by side in the report data, as a relay would need",
  ],
  "chain taken from the evidence": ["a root that the evidence brings along", "a token under another root"],
  "padding not covered": ["padding that no signature covers", "bytes behind the signature"],
  "debug as the good sample": ["a debug guest with a good signature", "a debug image"],
}

describe("refusals", () => {
  const all = Object.values(GROUPS).flat()
  it.each(Object.entries(MISTAKES))("include the mistake: %s", (_, names) => {
    assert.includeMembers(
      all.map(([name]) => name),
      names,
    )
  })
  it("are more than 300", () => assert.isAbove(all.length, 300))
  it("reach every code", () => {
    assert.deepStrictEqual([...new Set(all.map(([, code]) => code))].sort(), [...EVIDENCE_FAILURE_CODES].sort())
  })
  it("start from a policy that decodes", () => assert.strictEqual(decodePolicy(POLICY).accept.length, 4))
})
