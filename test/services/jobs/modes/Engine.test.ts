import { assert, it } from "@effect/vitest"
import { Duration, Effect, Latch, Layer, Schedule } from "effect"
import type { Mode } from "../../../../src/domain/jobs/modes.ts"
import { UpstreamError } from "../../../../src/domain/upstream/upstream.ts"
import { layerJobRunner } from "../../../../src/services/jobs/JobRunner.ts"
import { Jobs } from "../../../../src/services/jobs/Jobs.ts"
import * as Modes from "../../../../src/services/jobs/modes/ModePrograms.ts"
import { Drain } from "../../../../src/services/lifecycle/Drain.ts"
import { describeDatabases, type TestDatabase } from "../../../support/databases.ts"
import { ended, makeAgent, services } from "../../../support/jobs.ts"
import { settings, stack } from "../../routing/RouterFixture.ts"
import { ScriptedUpstream, status } from "../../routing/ScriptedUpstream.ts"
import { replying } from "./ModeFixture.ts"

const answers = {
  propose: "42",
  critique: { resolved: [], objections: [] },
  judge: { verdict: "sound", confidence: 0.9, resolved: [] },
}

const engine = (database: TestDatabase, upstream: ScriptedUpstream) =>
  layerJobRunner.pipe(
    Layer.provide(Modes.layer),
    Layer.provideMerge(stack(settings())),
    Layer.provideMerge(Layer.mergeAll(services(database.layer), upstream.layer, Drain.layer({ grace: Duration.zero }))),
  )

describeDatabases("modes as durable jobs", (database) => {
  it.live.each<readonly [Mode, number, number]>([
    ["adversarial", 3, 300 + 30 + 30],
    ["verified", 2, 300 + 30],
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
      assert.deepInclude(job, { status: "completed", attempt: 2, cost_micro_usd: 360 })
      assert.strictEqual(upstream.requests.length, 4)
    }).pipe(Effect.provide(engine(database, upstream)))
  })

  it.live("a job that is cancelled during a call counts that call with unknown cost", () => {
    const asked = Latch.makeUnsafe()
    const critique = () => {
      asked.openUnsafe()
      return { hangs: true }
    }
    const upstream = new ScriptedUpstream(
      [status("provider1"), status("provider2")],
      replying({ ...answers, critique }),
    )
    return Effect.gen(function* () {
      const jobs = yield* Jobs
      const { agent, tenant } = yield* makeAgent()
      const { id } = yield* jobs.enqueue(tenant, agent.id, { task: "What is 6 × 7?" })
      yield* asked.await
      assert.deepInclude(yield* jobs.get(tenant, id), { cost_micro_usd: 300 })
      assert.strictEqual((yield* jobs.cancel(tenant, id)).status, "cancelled")
      const job = yield* Effect.repeat(jobs.get(tenant, id), {
        until: (job) => job.usage.calls === 2,
        schedule: Schedule.spaced("20 millis"),
      })
      assert.isNull(job.cost_micro_usd)
      assert.deepStrictEqual((yield* jobs.list(tenant)).items, [job])
    }).pipe(Effect.provide(engine(database, upstream)), Effect.timeout("4 seconds"))
  })

  it.live("a job that takes too long counts its interrupted call", () => {
    const upstream = new ScriptedUpstream(
      [status("provider1"), status("provider2")],
      replying({ ...answers, critique: { hangs: true } }),
    )
    return Effect.gen(function* () {
      const { agent, tenant } = yield* makeAgent({ timeout_seconds: 1 })
      const job = yield* ended(tenant, yield* (yield* Jobs).enqueue(tenant, agent.id, { task: "What is 6 × 7?" }))
      const usage = { input_tokens: 10, output_tokens: 5, cached_tokens: 0, calls: 2 }
      assert.deepInclude(job, { status: "timed_out", usage, cost_micro_usd: null })
    }).pipe(Effect.provide(engine(database, upstream)))
  })

  it.live("a job with a failed sample counts the calls before it", () => {
    const propose = (_: unknown, index: number) => {
      return index === 0 ? "42" : new UpstreamError({ code: "invalid-request" })
    }
    const upstream = new ScriptedUpstream([status("provider1"), status("provider2")], replying({ ...answers, propose }))
    return Effect.gen(function* () {
      const { agent, tenant } = yield* makeAgent()
      const queued = yield* (yield* Jobs).enqueue(tenant, agent.id, { task: "What is 6 × 7?", mode: "verified" })
      const job = yield* ended(tenant, queued)
      const usage = { input_tokens: 10, output_tokens: 5, cached_tokens: 0, calls: 1 }
      assert.deepInclude(job, { status: "failed", usage, cost_micro_usd: 300 })
    }).pipe(Effect.provide(engine(database, upstream)))
  })

  it.live("a job that reaches its limit fails with its spent cost", () => {
    const upstream = new ScriptedUpstream([status("provider1"), status("provider2")], replying(answers))
    return Effect.gen(function* () {
      const { agent, tenant } = yield* makeAgent({ max_tokens: 20 })
      const job = yield* ended(tenant, yield* (yield* Jobs).enqueue(tenant, agent.id, { task: "What is 6 × 7?" }))
      assert.deepInclude(job, { status: "failed", cost_micro_usd: 300 })
      assert.deepInclude(job.problem, { code: "token-limit-reached", retryable: false })
    }).pipe(Effect.provide(engine(database, upstream)))
  })
})
