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

describe("refusals", () => {
  const all = Object.values(GROUPS).flat()
  it("are more than 300", () => assert.isAbove(all.length, 300))
  it("reach every code", () => {
    assert.deepStrictEqual([...new Set(all.map(([, code]) => code))].sort(), [...EVIDENCE_FAILURE_CODES].sort())
  })
  it("start from a policy that decodes", () => assert.strictEqual(decodePolicy(POLICY).accept.length, 4))
})
