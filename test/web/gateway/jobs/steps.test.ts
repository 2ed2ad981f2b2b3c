import { assert, describe, it } from "@effect/vitest"
import { stepLabel } from "../../../../src/domain/jobs/modes.ts"
import { endOf, timeline } from "../../../../src/web/gateway/jobs/steps.ts"
import { step } from "./examples.ts"

describe("steps", () => {
  it("have labels that name their purpose", () => {
    const labels = [
      step("propose"),
      step("critique", { round: 2 }),
      step("respond", { round: 1, tier: 2 }),
      step("judge", { repair: true }),
      step("critique", { round: 1, tier: 3, repair: true }),
      step("who-knows"),
    ]
    assert.deepStrictEqual(
      labels.map((step) => stepLabel("adversarial", step)),
      [
        "Proposal",
        "Round 2: critique",
        "Round 1: response, target 2",
        "Judgement, asked again",
        "Round 1: critique, target 3, asked again",
        "who-knows",
      ],
    )
    assert.strictEqual(stepLabel("verified", step("answer", { question: 3 })), "Independent answer 3")
    assert.deepStrictEqual(
      [
        step("tools", { server: 1 }),
        step("sample", { sample: 2, turn: 3 }),
        step("tool", { within: "sample", sample: 2, turn: 3, call: 4, tier: 2 }),
      ].map((step) => stepLabel("verified", step)),
      ["Tools of MCP server 1", "Sample 2, turn 3", "Sample 2, turn 3: tool call 4, target 2"],
    )
  })

  it("are announced as failed if they failed", () => {
    assert.deepStrictEqual(
      [endOf("adversarial", step("propose", { status: "failed" })), endOf("adversarial", step("propose"))],
      ["Proposal: failed.", "Proposal: done."],
    )
  })

  it("lie on the time line at their time, also in parallel", () => {
    const at = (from: number, to: number) => ({
      started_at: new Date(from).toISOString(),
      finished_at: new Date(to).toISOString(),
    })
    assert.deepStrictEqual(timeline([at(1000, 2000), at(2000, 5000), at(2000, 3000)]), [
      { offset: 0, length: 0.25 },
      { offset: 0.25, length: 0.75 },
      { offset: 0.25, length: 0.25 },
    ])
    assert.deepStrictEqual(timeline([at(1000, 1000)]), [{ offset: 0, length: 1 }])
    assert.deepStrictEqual(timeline([]), [])
  })
})
