/** The progress of a job, as people see it on standard error. */
import { assert, describe, it, vi } from "@effect/vitest"
import { showProgress } from "../../src/cli/gateway/progress.ts"
import type { JobEvent, Step } from "../../src/client/gateway/GatewayJobs.ts"
import { makeProblem } from "../../src/domain/problems/problem.ts"

const STEP: Step = {
  name: "turn-1",
  kind: "turn",
  turn: 1,
  status: "completed",
  provider: "provider1",
  model: "model-1",
  usage: null,
  cost_micro_usd: null,
  started_at: "2026-01-01T00:00:00.000Z",
  finished_at: "2026-01-01T00:00:01.000Z",
}

const failed = (step: Partial<Step>): Step => ({
  ...STEP,
  status: "failed",
  problem: makeProblem({ code: "upstream-unavailable", status: 502, title: "It failed." }),
  ...step,
})

async function* finished(steps: ReadonlyArray<Step>): AsyncGenerator<JobEvent> {
  for (const step of steps) yield { type: "step", step }
}

/** Returns the lines for finished steps. */
const linesOf = async (...steps: ReadonlyArray<Step>): Promise<ReadonlyArray<string>> => {
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true)
  try {
    await showProgress("direct", finished(steps), false)
    return write.mock.calls.map(([text]) => String(text).trimEnd())
  } finally {
    write.mockRestore()
  }
}

describe("the progress of a job", () => {
  it("names the model of each step, and why one failed", async () => {
    assert.deepStrictEqual(await linesOf(STEP, failed({}), failed({ model: null })), [
      "Turn 1 by model-1 · 0s",
      "Turn 1 by model-1 failed (upstream-unavailable) · 0s",
      "Turn 1 failed (upstream-unavailable) · 0s",
    ])
  })
})
