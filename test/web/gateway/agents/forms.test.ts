import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { CreateAgent } from "../../../../src/domain/jobs/agent.ts"
import { ExecuteRequest } from "../../../../src/domain/jobs/job.ts"
import { checkAgent, checkTask, NEW_AGENT } from "../../../../src/web/gateway/agents/forms.ts"

describe("the form of an agent", () => {
  it("converts to an API request without empty fields", () => {
    const plain = checkAgent({ ...NEW_AGENT, name: " a " })
    assert.deepStrictEqual(plain, {
      value: {
        name: "a",
        default_mode: "adversarial",
        default_effort: "medium",
        limits: { max_rounds: 2, timeout_seconds: 600 },
      },
    })
    const full = checkAgent({
      ...NEW_AGENT,
      name: "a",
      role: "r",
      instructions: "i",
      mode: "verified",
      tokens: "9",
      calls: "5",
      cost: "$0.5",
    })
    assert("value" in full)
    assert.deepInclude(full.value, { role: "r", instructions: "i", default_mode: "verified" })
    assert.deepInclude(full.value.limits, { max_calls: 5, max_tokens: 9, max_cost_micro_usd: 500_000 })
    Schema.decodeUnknownSync(CreateAgent)(full.value, { onExcessProperty: "error" })
  })

  it("reports one mistake per invalid field", () => {
    const checked = checkAgent({ ...NEW_AGENT, rounds: "4", timeout: "1.5", tokens: "0", calls: "x", cost: "free" })
    assert.deepStrictEqual("value" in checked ? [] : Object.keys(checked.mistakes), [
      "name",
      "rounds",
      "timeout",
      "tokens",
      "calls",
      "cost",
    ])
    for (const cost of ["-1", "0", "0.0000001", "1e99"])
      assert.property(checkAgent({ ...NEW_AGENT, name: "a", cost }), "mistakes", cost)
    assert.property(checkAgent({ ...NEW_AGENT, name: "a".repeat(201) }), "mistakes")
  })
})

describe("the form of a task", () => {
  const fields = { task: " do it ", mode: "verified", effort: "high", priority: "normal", concurrency: " " } as const

  it("converts to an API request, and requires a task", () => {
    const checked = checkTask(fields)
    assert.deepStrictEqual(checked, {
      value: { task: "do it", mode: "verified", options: { effort: "high" } },
    })
    if ("value" in checked) Schema.decodeUnknownSync(ExecuteRequest)(checked.value, { onExcessProperty: "error" })
    assert.deepStrictEqual(checkTask({ ...fields, task: "  " }), {
      mistakes: { task: "Enter a task." },
    })
  })

  it("has a priority and a concurrency key", () => {
    const checked = checkTask({ ...fields, priority: "low", concurrency: " deploy " })
    assert("value" in checked)
    assert.deepInclude(checked.value, { priority: "low", concurrency: { key: "deploy" } })
    const spaced = checkTask({ ...fields, concurrency: "two words" })
    assert.deepStrictEqual("value" in spaced ? [] : Object.keys(spaced.mistakes), ["concurrency"])
  })
})
