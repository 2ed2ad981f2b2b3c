import { assert, describe, it } from "@effect/vitest"
import { problemFrom } from "../../../src/client/verification/decode.ts"

describe("a decoded problem", () => {
  it("keeps its instance and trace id", () => {
    const problem = {
      type: "urn:sealgate:problem:job-not-found",
      title: "There is no such job.",
      status: 404,
      code: "job-not-found",
      retryable: false,
      detail: "None.",
      instance: "/api/v1/jobs/1",
      trace_id: "cd7cfcfeed3eabdacbca8b17a9045184",
      errors: [{ path: "a", message: "b" }],
    }
    assert.deepStrictEqual(problemFrom(problem, 404), problem)
    assert.deepStrictEqual(problemFrom({ trace_id: 1, instance: null }, 500), {
      type: "about:blank",
      title: "The server answered 500.",
      status: 500,
      code: "unknown",
      retryable: false,
    })
  })

  it("drops errors whose path or message is not text", () => {
    const errors = [{ path: { toString: 1 }, message: "b" }, { path: "a", message: { toString: 1 } }, { path: "a" }, 1]
    const known = { path: "a", message: "b" }
    assert.deepStrictEqual(problemFrom({ errors: [...errors, known] }, 400).errors, [known])
  })
})
