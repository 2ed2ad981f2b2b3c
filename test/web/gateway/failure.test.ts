import { assert, describe, it } from "@effect/vitest"
import { Unreachable } from "../../../src/client/errors.ts"
import { GatewayProblem } from "../../../src/client/gateway/GatewayProblem.ts"
import { makeProblem } from "../../../src/domain/problems/problem.ts"
import { explain, failureOf, isSignedOut, renewed } from "../../../src/web/gateway/failure.ts"

describe("failures", () => {
  it("say what the problem says, and what to do", () => {
    const failure = explain(
      new GatewayProblem(
        makeProblem({
          code: "invalid-request",
          status: 400,
          title: "The request does not have the expected shape.",
          detail: "Two members.",
          trace_id: "abc",
          errors: [{ path: "payload.name", message: "missing" }],
        }),
      ),
    )
    assert.deepStrictEqual(failure, {
      title: "The request does not have the expected shape.",
      detail: "Two members.",
      issues: [{ path: "payload.name", message: "missing" }],
      advice: "Correct what is named and send it again.",
      traceId: "abc",
      code: "invalid-request",
    })
  })

  it("have advice for whatever the gateway may answer", () => {
    const adviceOn = (status: number, code = "x") =>
      explain(new GatewayProblem(makeProblem({ code, status, title: "t" }))).advice
    const advice = [401, 403, 404, 412, 413, 422, 429, 500, 503].map((status) => adviceOn(status))
    assert.notInclude(advice, "")
    assert.match(adviceOn(400, "cursor-invalid"), /first page/)
    assert.match(explain(new Unreachable("away")).advice, /running/)
    assert.strictEqual(explain("odd").detail, "odd")
  })

  it("stay as they were said when they only have another trace", () => {
    const of = (trace_id: string, detail = "No database.") =>
      failureOf(makeProblem({ code: "unavailable", status: 503, title: "Come back later.", detail, trace_id }))
    const known = of("a")
    assert.strictEqual(renewed(known, of("b")), known)
    const other = of("b", "No provider.")
    assert.strictEqual(renewed(known, other), other)
    assert.strictEqual(renewed(undefined, known), known)
  })

  it("are final when asking again is of no use", () => {
    const problem = (status: number) => new GatewayProblem(makeProblem({ code: "x", status, title: "t" }))
    assert.deepStrictEqual(
      [401, 403, 404, 429, 500, 503].filter((status) => explain(problem(status)).final === true),
      [401, 403, 404],
    )
    assert.isUndefined(explain(new Unreachable("away")).final)
  })

  it("tell a refused token from everything else", () => {
    assert.isTrue(isSignedOut(new GatewayProblem(makeProblem({ code: "unauthorized", status: 401, title: "t" }))))
    assert.isFalse(isSignedOut(new GatewayProblem(makeProblem({ code: "forbidden", status: 403, title: "t" }))))
    assert.isFalse(isSignedOut(new Error("401")))
  })
})
