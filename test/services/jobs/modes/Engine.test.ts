import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { Mode } from "../../../../src/domain/agent.ts"
import { UpstreamError } from "../../../../src/domain/upstream.ts"
import * as JobRunner from "../../../../src/services/jobs/JobRunner.ts"
import { Jobs } from "../../../../src/services/jobs/Jobs.ts"
import * as Modes from "../../../../src/services/jobs/modes/Modes.ts"
import { describeDatabases, type TestDatabase } from "../../../support/databases.ts"
import { ended, makeAgent, services } from "../../../support/jobs.ts"
import { settings, stack } from "../../routing/RouterFixture.ts"
import { ScriptedUpstream, status } from "../../routing/ScriptedUpstream.ts"
import { replying } from "./ModeFixture.ts"

const answers = {
  propose: "42",
  critique: { resolved: [], objections: [] },
  judge: { verdict: "sound", confidence: 0.9, resolved: [] },
  questions: { questions: ["What is 6 × 7?"] },
  answer: "42",
  reconcile: { checks: [{ question: 1, consistent: true, note: "the same" }] },
}

const engine = (database: TestDatabase, upstream: ScriptedUpstream) =>
  JobRunner.layer.pipe(
    Layer.provide(Modes.layer),
    Layer.provideMerge(stack(settings())),
    Layer.provideMerge(Layer.merge(services(database.layer), upstream.layer)),
  )

describeDatabases("modes as durable jobs", (database) => {
  it.live.each<readonly [Mode, number, number]>([
    ["adversarial", 3, 300 + 30 + 300],
    ["verified", 7, 4 * 300 + 3 * 30],
  ])("a %s job ends with its verdict, its steps and what they cost", ([mode, calls, cost]) => {
    const upstream = new ScriptedUpstream([status("provider1"), status("provider2")], replying(answers))
    return Effect.gen(function* () {
      const { agent, tenant } = yield* makeAgent()
      const queued = yield* (yield* Jobs).enqueue(tenant, agent.id, { task: "What is 6 × 7?", mode })
      const job = yield* ended(tenant, queued)
      assert.deepInclude(job.result, { answer: "42", verdict: mode === "adversarial" ? "upheld" : "verified" })
      assert.deepInclude(job, {
        status: "completed",
        cost_micro_usd: cost,
        usage: { input_tokens: 10 * calls, output_tokens: 5 * calls, cached_tokens: 0, calls },
      })
      assert.strictEqual(job.steps.length, calls)
    }).pipe(Effect.provide(engine(database, upstream)))
  })

  it.live("a job whose judge fails for a while pays for its other steps once", () => {
    const upstream = new ScriptedUpstream([status("provider1"), status("provider2")])
    const judge = (_: unknown, index: number) =>
      index === 0 ? new UpstreamError({ code: "overloaded" }) : JSON.stringify(answers.judge)
    upstream.script = replying({ ...answers, judge })
    return Effect.gen(function* () {
      const { agent, tenant } = yield* makeAgent()
      const job = yield* ended(tenant, yield* (yield* Jobs).enqueue(tenant, agent.id, { task: "What is 6 × 7?" }))
      assert.deepInclude(job, { status: "completed", attempt: 2, cost_micro_usd: 630 })
      assert.strictEqual(upstream.requests.length, 4)
    }).pipe(Effect.provide(engine(database, upstream)))
  })

  it.live("a job that runs into its limit fails with what it spent", () => {
    const upstream = new ScriptedUpstream([status("provider1"), status("provider2")], replying(answers))
    return Effect.gen(function* () {
      const { agent, tenant } = yield* makeAgent({ max_tokens: 20 })
      const job = yield* ended(tenant, yield* (yield* Jobs).enqueue(tenant, agent.id, { task: "What is 6 × 7?" }))
      assert.deepInclude(job, { status: "failed", cost_micro_usd: 330 })
      assert.deepInclude(job.problem, { code: "token-limit-reached", retryable: false })
    }).pipe(Effect.provide(engine(database, upstream)))
  })
})
