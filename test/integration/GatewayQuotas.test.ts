/** The quotas that an operator sets for tenants, over real sockets. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { describeDatabases } from "../support/databases.ts"
import { call, databaseUrl, problemIn, startGateway, tokenFor } from "../support/gateway.ts"

describeDatabases("the quotas of a gateway", (database) => {
  it.live("refuse agents and jobs beyond them, with a problem that states the limit", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl(database), {
        MAX_AGENTS_PER_TENANT: "1",
        MAX_JOBS_PER_TENANT: "2",
        JOB_WORKERS: "0",
      })
      const token = yield* tokenFor("acme")
      const post = (path: string, body: object) => call(gateway, "POST", path, { token, body })
      const agent = yield* post("/api/v1/agents", { name: "a" })
      assert.strictEqual(agent.status, 201)
      const { detail: ofAgents, ...noAgent } = problemIn(yield* post("/api/v1/agents", { name: "b" }))
      assert.deepInclude(noAgent, { code: "too-many-agents", status: 409, retryable: false })
      assert.include(ofAgents, "At most 1 agents")
      const execute = post(`/api/v1/agents/${String(agent.json["id"])}/execute`, { task: "T" })
      assert.deepStrictEqual([(yield* execute).status, (yield* execute).status], [202, 202])
      const refused = yield* execute
      const { detail: ofJobs, ...noJob } = problemIn(refused)
      assert.deepInclude(noJob, { code: "too-many-jobs", status: 429, retryable: true })
      assert.include(ofJobs, "At most 2 jobs")
      assert.isNotNull(refused.headers.get("retry-after"))
    }),
  )
})
