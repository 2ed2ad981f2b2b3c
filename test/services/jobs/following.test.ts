/** Followers of a job that changes while they read it. */
import { assert, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { makeFollowing } from "../../../src/services/jobs/following.ts"
import { makeJobReads } from "../../../src/services/jobs/JobReads.ts"
import { Jobs } from "../../../src/services/jobs/Jobs.ts"
import { Ledger } from "../../../src/services/routing/Ledger.ts"
import { ToolOutput } from "../../../src/services/tools/ToolOutput.ts"
import { describeDatabases } from "../../support/databases.ts"
import { answer, enqueueOne, gateway, type Program } from "../../support/jobs.ts"

const asks: Program = ({ ask, step }) =>
  Effect.gen(function* () {
    const asking = { kind: "ask", call: 1, turn: 1 }
    yield* step(asking, ToolOutput, ask({ asking, question: "Go on?", answer_schema: {}, timeoutSeconds: 3600 }))
    return answer("done")
  })

describeDatabases("a follower of a job", (database) => {
  it.live("gets no question that was answered before it was read", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const { job, tenant } = yield* enqueueOne()
      const reads = yield* makeJobReads(yield* SqlClient.SqlClient, yield* Ledger)
      const isAsking = Effect.map(reads.read(tenant, job.id), ({ question }) => question !== undefined)
      yield* Effect.repeat(isAsking, { until: (is) => is })
      const answered = Effect.andThen(
        jobs.input(tenant, job.id, { answer: {} }),
        jobs.wait(tenant, job.id, "20 seconds"),
      )
      const read: typeof reads.read = (...of) =>
        Effect.flatMap(Effect.orDie(isAsking), (is) =>
          Effect.andThen(is ? Effect.orDie(answered) : Effect.void, reads.read(...of)),
        )
      const { events } = yield* makeFollowing({ ...reads, read })
      const heard = yield* Stream.runCollect(events(tenant, job.id))
      const tags = heard.map(({ _tag }) => _tag)
      assert.notInclude(tags, "InputRequired")
      assert.strictEqual(tags.at(-1), "Ended")
    }).pipe(Effect.provide(gateway(database.layer, asks))),
  )
})
