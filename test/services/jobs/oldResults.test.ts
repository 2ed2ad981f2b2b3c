import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { jobModes } from "../../../src/layers/database/migrations/job_modes.ts"
import { Jobs } from "../../../src/services/jobs/Jobs.ts"
import { describeDatabases } from "../../support/databases.ts"
import { enqueueOne, services } from "../../support/jobs.ts"

/** Texts that look like what the migration replaces. */
const claim = 'It says {"claim":"no"}.'

const old = {
  adversarial: {
    answer: claim,
    verdict: "upheld",
    confidence: 0.9,
    objections: [{ claim, severity: "minor", status: "open" }],
    rounds: [{ round: 1, objections: [{ claim, severity: "minor", status: "open" }], response: "accepted" }],
    participants: [],
  },
  verified: {
    answer: claim,
    verdict: "verified",
    agreement: 1,
    checks: [{ question: "?", independent_answer: "!", consistent: true, note: "" }],
    samples: [{ answer_digest: "x", agrees: true }],
  },
} as const

describeDatabases("results from before they named their mode", (database) => {
  it.live.each(["adversarial", "verified"] as const)("stay readable: %s", (mode) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { job, tenant } = yield* enqueueOne()
      yield* sql`UPDATE jobs SET mode = ${mode}, result = ${JSON.stringify(old[mode])} WHERE id = ${job.id}`
      const step = { job_id: job.id, event: 1, name: "a-1", status: "completed", started_at: 0, finished_at: 0 }
      yield* sql`INSERT INTO job_steps ${sql.insert(step)}`
      for (const statement of jobModes.filter((text) => text.startsWith("UPDATE"))) yield* sql.unsafe(statement)
      const { result, steps } = yield* Jobs.use((jobs) => jobs.get(tenant, job.id))
      assert.deepInclude(result, { mode, answer: claim })
      if (result?.mode === "adversarial") assert.strictEqual(result.objections[0]?.claim, claim)
      assert.deepInclude(steps[0], { name: "a-1", kind: "a-1" })
    }).pipe(Effect.provide(services(database.layer))),
  )
})
