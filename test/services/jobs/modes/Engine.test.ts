import { assert, it } from "@effect/vitest"
import { Duration, Effect, Latch, Layer, Schedule } from "effect"
import type { Mode } from "../../../../src/domain/jobs/modes.ts"
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
      assert.strictEqual((yield* jobs.cancel(tenant, id)).job.status, "cancelled")
      const job = yield* Effect.repeat(jobs.get(tenant, id), {
        until: (job) => job.usage.calls === 2,
        schedule: Schedule.spaced("20 millis"),
      })
      assert.isNull(job.cost_micro_usd)
      assert.deepStrictEqual((yield* jobs.list(tenant)).items, [job])
    }).pipe(Effect.provide(engine(database, upstream)))
  })
})
