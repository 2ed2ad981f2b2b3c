/** The log of failed and successful attempts. */
import { assert, describe, it } from "@effect/vitest"
import { JobId } from "../../../src/domain/jobs/job.ts"
import { FailureCauses } from "../../../src/services/jobs/FailureCauses.ts"

const [ONE, OTHER] = [
  JobId.make("01a2018a-91c4-7a02-8d55-6f6f0cbd1a7e"),
  JobId.make("01a2018a-91c4-7a02-8d55-6f6f0cbd1a7f"),
]
const MINUTE = 60_000

describe("the causes of failed attempts", () => {
  it("begin once each, however often attempts fail", () => {
    const causes = new FailureCauses()
    assert.isTrue(causes.failed(ONE, "upstream-unavailable", 0))
    assert.isFalse(causes.failed(ONE, "upstream-unavailable", MINUTE))
    assert.isFalse(causes.failed(OTHER, "upstream-unavailable", 60 * MINUTE))
    assert.isTrue(causes.failed(OTHER, "budget-exhausted", 60 * MINUTE))
  })

  it("end when a job gets through that had failed, not when another does meanwhile", () => {
    const causes = new FailureCauses()
    causes.failed(ONE, "upstream-unavailable", 0)
    causes.failed(ONE, "upstream-unavailable", MINUTE)
    assert.deepStrictEqual(causes.succeeded(OTHER, 2 * MINUTE), [])
    assert.deepStrictEqual(causes.succeeded(ONE, 3 * MINUTE), [
      { code: "upstream-unavailable", failed: 2, after_s: 180 },
    ])
    assert.deepStrictEqual(causes.succeeded(ONE, 3 * MINUTE), [])
  })

  it("end with any success once no attempt has failed for 10 minutes", () => {
    const causes = new FailureCauses()
    causes.failed(ONE, "upstream-unauthorized", 0)
    assert.deepStrictEqual(causes.succeeded(OTHER, 10 * MINUTE - 1), [])
    assert.strictEqual(causes.succeeded(OTHER, 10 * MINUTE).length, 1)
  })

  it("are not logged again within 10 minutes if they come and go", () => {
    const causes = new FailureCauses()
    causes.failed(ONE, "upstream-unavailable", 0)
    causes.succeeded(ONE, MINUTE)
    assert.isFalse(causes.failed(ONE, "upstream-unavailable", 2 * MINUTE))
    assert.deepStrictEqual(causes.succeeded(ONE, 3 * MINUTE), [])
    assert.isTrue(causes.failed(ONE, "upstream-unavailable", 10 * MINUTE))
  })
})
