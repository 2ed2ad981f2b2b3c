import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { GatewayProblem, Unreachable } from "../../../src/client/errors.ts"
import { CreateAgent } from "../../../src/domain/agent.ts"
import { ExecuteRequest } from "../../../src/domain/job.ts"
import { makeProblem } from "../../../src/domain/problem.ts"
import { explain, failureOf, isFinal, isSignedOut, renewed } from "../../../src/web/gateway/failure.ts"
import { checkAgent, checkTask, NEW_AGENT } from "../../../src/web/gateway/forms.ts"

describe("the form of an agent", () => {
  it("gives what the API takes, without what was left empty", () => {
    const plain = checkAgent({ ...NEW_AGENT, name: " a " })
    assert.deepStrictEqual(plain, {
      ok: true,
      value: { name: "a", default_mode: "adversarial", limits: { max_rounds: 2, timeout_seconds: 600 } },
    })
    const full = checkAgent({
      ...NEW_AGENT,
      name: "a",
      role: "r",
      instructions: "i",
      mode: "verified",
      tokens: "9",
      cost: "$0.5",
    })
    assert.isTrue(full.ok)
    if (!full.ok) return
    assert.deepInclude(full.value, { role: "r", instructions: "i", default_mode: "verified" })
    assert.deepInclude(full.value.limits, { max_tokens: 9, max_cost_micro_usd: 500_000 })
    Schema.decodeUnknownSync(CreateAgent)(full.value, { onExcessProperty: "error" })
  })

  it("says what is wrong with each field", () => {
    const checked = checkAgent({ ...NEW_AGENT, rounds: "4", timeout: "1.5", tokens: "0", cost: "free" })
    assert.deepStrictEqual(checked.ok ? [] : Object.keys(checked.mistakes), [
      "name",
      "rounds",
      "timeout",
      "tokens",
      "cost",
    ])
    for (const cost of ["-1", "0", "0.0000001", "1e99"])
      assert.isFalse(checkAgent({ ...NEW_AGENT, name: "a", cost }).ok, cost)
    assert.isFalse(checkAgent({ ...NEW_AGENT, name: "a".repeat(201) }).ok)
  })
})

describe("the form of a task", () => {
  const fields = { task: " do it ", mode: "adversarial", rounds: "2", samples: "5" } as const

  it("gives only the option that its mode has", () => {
    for (const mode of ["adversarial", "verified"] as const) {
      const checked = checkTask({ ...fields, mode }, 3)
      assert.deepStrictEqual(checked, {
        ok: true,
        value: { task: "do it", mode, options: mode === "adversarial" ? { rounds: 2 } : { samples: 5 } },
      })
      if (checked.ok) Schema.decodeUnknownSync(ExecuteRequest)(checked.value, { onExcessProperty: "error" })
    }
  })

  it("keeps to the agent's rounds, and needs a task", () => {
    assert.deepStrictEqual(checkTask({ ...fields, task: "  " }, 1), {
      ok: false,
      mistakes: { task: "Say what is to be done.", rounds: "A whole number from 1 to 1." },
    })
  })
})

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
      [401, 403, 404, 429, 500, 503].filter((status) => isFinal(problem(status))),
      [401, 403, 404],
    )
    assert.isFalse(isFinal(new Unreachable("away")))
  })

  it("tell a refused token from everything else", () => {
    assert.isTrue(isSignedOut(new GatewayProblem(makeProblem({ code: "unauthorized", status: 401, title: "t" }))))
    assert.isFalse(isSignedOut(new GatewayProblem(makeProblem({ code: "forbidden", status: 403, title: "t" }))))
    assert.isFalse(isSignedOut(new Error("401")))
  })
})
