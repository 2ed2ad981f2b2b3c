import { assert, describe, it } from "@effect/vitest"
import type { Job, Step } from "../../../src/client/GatewayJobs.ts"
import { debateOf } from "../../../src/web/gateway/debate.ts"
import { stepsOf, taskText, withNews } from "../../../src/web/gateway/jobState.ts"
import { endOf, labelOf, timeline } from "../../../src/web/gateway/steps.ts"

const step = (name: string, members: Partial<Step> = {}): Step => ({
  name,
  status: "completed",
  provider: "provider1",
  model: "small",
  usage: null,
  cost_micro_usd: null,
  started_at: "2026-11-21T12:00:00.000Z",
  finished_at: "2026-11-21T12:00:01.000Z",
  ...members,
})

const job = (members: Partial<Job> = {}): Job => ({
  id: "01890a5d-ac96-774b-bcce-b302099a8057",
  agent_id: "01890a5d-ac96-774b-bcce-b302099a8057",
  agent_version: 1,
  mode: "adversarial",
  status: "running",
  attempt: 1,
  task: "x",
  options: {},
  usage: { input_tokens: 0, output_tokens: 0, cached_tokens: 0, calls: 0 },
  cost_micro_usd: 0,
  steps: [],
  created_at: "2026-11-21T12:00:00.000Z",
  expires_at: "2026-12-21T12:00:00.000Z",
  trace_id: "0",
  metadata: {},
  ...members,
})

describe("steps", () => {
  it("are called what they do", () => {
    const labels = [
      "propose",
      "critique-2",
      "respond-1-tier-2",
      "judge-repair",
      "answer-3",
      "critique-1-tier-3-repair",
      "who-knows",
    ]
    assert.deepStrictEqual(labels.map(labelOf), [
      "Proposal",
      "Round 2: critique",
      "Round 1: response, target 2",
      "Judgement, asked again",
      "Independent answer 3",
      "Round 1: critique, target 3, asked again",
      "who-knows",
    ])
  })

  it("are said to have failed when they have", () => {
    assert.deepStrictEqual(
      [endOf(step("propose", { status: "failed" })), endOf(step("propose"))],
      ["Proposal: failed.", "Proposal: done."],
    )
  })

  it("lie in their time, side by side where they were", () => {
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

describe("a debate", () => {
  it("shows its rounds from its steps, before there is a result", () => {
    const critique = step("critique-1-repair")
    const { judgement, proposal, rounds } = debateOf(
      [
        step("propose"),
        step("critique-1", { status: "failed" }),
        step("critique-1"),
        critique,
        step("respond-1"),
        step("critique-2"),
      ],
      undefined,
    )
    assert.strictEqual(proposal?.name, "propose")
    assert.isUndefined(judgement)
    assert.deepStrictEqual(
      rounds.map((round) => [round.round, round.critique?.name, round.response?.name, round.objections]),
      [
        [1, "critique-1-repair", "respond-1", undefined],
        [2, "critique-2", undefined, undefined],
      ],
    )
  })

  it("is that of the last target of a cascade", () => {
    const steps = [step("propose"), step("critique-1"), step("critique-2"), step("judge"), step("propose-tier-2")]
    assert.deepStrictEqual(debateOf(steps, undefined), {
      proposal: step("propose-tier-2"),
      rounds: [],
      judgement: undefined,
    })
  })

  it("knows from the result what was objected", () => {
    const objections = [{ claim: "wrong", severity: "major", status: "open" }] as const
    const result = {
      answer: "",
      verdict: "inconclusive",
      confidence: null,
      objections,
      rounds: [{ round: 1, objections, response: "inconclusive" }],
      participants: [],
    } as const
    const [round] = debateOf([step("propose"), step("critique-1")], result).rounds
    assert.deepInclude(round, { objections, outcome: "inconclusive", response: undefined })
  })
})

describe("a followed job", () => {
  it("keeps what is newest, in whatever order news come", () => {
    const first = withNews(undefined, { type: "read", job: job({ status: "queued" }) })
    const followed = withNews(first, { type: "following" })
    const one = withNews(followed, { type: "step", step: step("propose") })
    assert.deepStrictEqual(one === undefined ? [] : stepsOf(one).map(({ name }) => name), ["propose"])
    // An answer that was under way when the step came.
    const late = withNews(one, { type: "read", job: job() })
    assert.deepStrictEqual(late === undefined ? [] : stepsOf(late).map(({ name }) => name), ["propose"])
    const ended = withNews(late, {
      type: "ended",
      job: job({ status: "completed", steps: [step("propose"), step("judge")] }),
    })
    const after = withNews(ended, { type: "read", job: job() })
    assert.strictEqual(after?.job.status, "completed")
    assert.strictEqual(after === undefined ? 0 : stepsOf(after).length, 2)
  })

  it("shows the steps that were read until the stream has caught up", () => {
    const read = withNews(undefined, { type: "read", job: job({ steps: [step("propose"), step("critique-1")] }) })
    const one = withNews(withNews(read, { type: "following" }), { type: "step", step: step("propose") })
    assert.strictEqual(one === undefined ? 0 : stepsOf(one).length, 2)
  })

  it("has a task to read, also when it is a conversation", () => {
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
