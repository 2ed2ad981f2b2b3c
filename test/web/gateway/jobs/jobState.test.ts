import { assert, describe, it } from "@effect/vitest"
import { stepsOf, taskText, applyUpdate } from "../../../../src/web/gateway/jobs/jobState.ts"
import { job, step } from "./examples.ts"

describe("a followed job", () => {
  it("keeps the newest state, in any order of updates", () => {
    const first = applyUpdate(undefined, { type: "read", job: job({ status: "queued" }) })
    const followed = applyUpdate(first, { type: "following" })
    const one = applyUpdate(followed, { type: "step", step: step("propose") })
    assert.deepStrictEqual(one === undefined ? [] : stepsOf(one).map(({ name }) => name), ["propose"])
    // A read that was in flight when the step came.
    const late = applyUpdate(one, { type: "read", job: job() })
    assert.deepStrictEqual(late === undefined ? [] : stepsOf(late).map(({ name }) => name), ["propose"])
    const ended = applyUpdate(late, {
      type: "ended",
      job: job({ status: "completed", steps: [step("propose"), step("judge")] }),
    })
    const after = applyUpdate(ended, { type: "read", job: job() })
    assert.strictEqual(after?.job.status, "completed")
    assert.strictEqual(after === undefined ? 0 : stepsOf(after).length, 2)
    const resumed = applyUpdate(after, { type: "read_after_end", job: job({ attempt: 2 }) })
    assert.strictEqual(resumed?.job.attempt, 2)
  })

  it("shows the steps read until the stream has caught up", () => {
    const read = applyUpdate(undefined, { type: "read", job: job({ steps: [step("propose"), step("critique-1")] }) })
    const one = applyUpdate(applyUpdate(read, { type: "following" }), { type: "step", step: step("propose") })
    assert.strictEqual(one === undefined ? 0 : stepsOf(one).length, 2)
  })

  it("shows the last user message of a conversation as its task", () => {
    assert.strictEqual(taskText("do it"), "do it")
    assert.strictEqual(
      taskText([
        { role: "user", content: "first" },
        { role: "assistant", content: "yes" },
        { role: "user", content: "then" },
      ]),
      "then",
    )
    assert.strictEqual(
      taskText([{ role: "user", content: [{ type: "text", text: "seen" }] }]),
      '[{"type":"text","text":"seen"}]',
    )
  })
})
