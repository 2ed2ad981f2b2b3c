/** Schedules over real sockets: each time gives one job, also through failures of gateways, agents and rows. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { until } from "../support/calls.ts"
import { describeDatabases } from "../support/databases.ts"
import { type Answer, call, databaseUrl, problemIn, startGateway, tokenFor } from "../support/gateway.ts"
import { runBeside } from "../support/storedBeside.ts"

describeDatabases("a schedule", (database) => {
  /** A gateway, and a way to make schedules due. On Postgres two gateways share the database. */
  const setup = Effect.gen(function* () {
    const stored = yield* databaseUrl(database)
    const gateway = yield* startGateway(stored)
    if (database.kind === "postgres") yield* startGateway(stored)
    const boss = yield* tokenFor("boss", { tenant: "acme", roles: ["manage"] })
    const api = (method: string, path: string, body?: object, token = boss) =>
      call(gateway, method, `/api/v1${path}`, { token, body })
    const agent = String((yield* api("POST", "/agents", { name: "a", default_mode: "direct" })).json["id"])
    const plan = { agent_id: agent, cron: "0 7 * * *", request: { task: "Report." } }
    const make = Effect.map(api("POST", "/schedules", plan), ({ json }) => String(json["id"]))
    const change = (statement: string) => runBeside(database, stored, statement)
    const read = (id: string) => Effect.map(api("GET", `/schedules/${id}`), ({ json }) => json)
    const jobs = Effect.map(api("GET", "/jobs"), ({ json }) => json["items"] as ReadonlyArray<{ readonly id: string }>)
    /** Waits until the schedule's time has passed. */
    const passed = (id: string) =>
      until(Effect.map(read(id), ({ next_at }) => Date.parse(String(next_at)) > Date.now()))
    /** A key that may make schedules, and a schedule that it made. */
    const withKey = Effect.fnUntraced(function* (request: object = plan.request) {
      const { json: key } = yield* api("POST", "/keys", { name: "robot", roles: ["manage"] })
      const made = yield* api("POST", "/schedules", { ...plan, request }, String(key["key"]))
      assert.strictEqual(made.json["key_id"], key["id"])
      return { key: String(key["id"]), id: String(made.json["id"]) }
    })
    const due = Effect.fnUntraced(function* (id: string, at = 1) {
      yield* change(`UPDATE schedules SET next_at = ${at}`)
      yield* passed(id)
    })
    return { agent, api, change, due, gateway, jobs, make, passed, plan, read, token: boss, withKey }
  })

  it.live("gives one job per time, and one for all missed times", () =>
    Effect.gen(function* () {
      const { change, jobs, make, passed, read } = yield* setup
      const id = yield* make
      assert.deepStrictEqual(yield* jobs, [])
      for (const expected of [1, 2]) {
        yield* change(`UPDATE schedules SET next_at = ${Date.now() - expected * 86_400_000}`)
        yield* passed(id)
        const now = yield* jobs
        assert.strictEqual(now.length, expected)
        const schedule = yield* read(id)
        assert.strictEqual(schedule["last_job_id"], now[0]?.id)
        assert.match(String(schedule["next_at"]), /T07:00:00.000Z$/)
      }
    }),
  )

  it.live("gives its jobs their concurrency key", () =>
    Effect.gen(function* () {
      const { api, change, jobs, passed, plan } = yield* setup
      const concurrency = { key: "report", limit: 1 }
      const { json } = yield* api("POST", "/schedules", { ...plan, request: { task: "Report.", concurrency } })
      yield* change("UPDATE schedules SET next_at = 1")
      yield* passed(String(json["id"]))
      const [job] = yield* jobs
      assert.deepStrictEqual((yield* api("GET", `/jobs/${job?.id}`)).json["concurrency"], concurrency)
    }),
  )

  it.live("gives its job even if callers used every likely name of it as an idempotency key", () =>
    Effect.gen(function* () {
      const { agent, change, gateway, jobs, make, passed, read, token } = yield* setup
      const id = yield* make
      for (const key of [`schedule:${id}:1`, `schedules/${id}`, `${id}:1`, "1"]) {
        const headers = { "idempotency-key": key }
        const body = { task: "Other." }
        yield* call(gateway, "POST", `/api/v1/agents/${agent}/execute`, { token, body, headers })
      }
      yield* change("UPDATE schedules SET next_at = 1")
      yield* passed(id)
      assert.isNull((yield* read(id))["last_problem"] ?? null)
      assert.lengthOf(yield* jobs, 5)
    }),
  )

  it.live("reports why a time gave no job, and continues", () =>
    Effect.gen(function* () {
      const { agent, api, change, jobs, make, passed, read } = yield* setup
      const id = yield* make
      yield* api("DELETE", `/agents/${agent}`)
      yield* change("UPDATE schedules SET next_at = 1")
      yield* passed(id)
      assert.deepInclude((yield* read(id))["last_problem"], { code: "agent-not-found" })
      assert.deepStrictEqual(yield* jobs, [])
      assert.strictEqual((yield* api("DELETE", `/schedules/${id}`)).status, 204)
      assert.strictEqual(problemIn(yield* api("GET", `/schedules/${id}`)).code, "schedule-not-found")
    }),
  )

  it.live("gives its jobs the key that made it, with that key's present limits", () =>
    Effect.gen(function* () {
      const { api, due, jobs, withKey } = yield* setup
      const { id, key } = yield* withKey()
      const jobAt = Effect.fnUntraced(function* (at: number) {
        yield* due(id, at)
        return (yield* api("GET", `/jobs/${(yield* jobs)[0]?.id}?wait=30`)).json
      })
      assert.strictEqual((yield* jobAt(1))["status"], "completed")
      const { json } = yield* api("GET", `/ledger?key_id=${key}`)
      assert.lengthOf(json["items"] as ReadonlyArray<unknown>, 1)
      yield* api("PATCH", `/keys/${key}`, { roles: ["run"], budgets: [{ per: "total", max_tokens: 100 }] })
      assert.deepInclude((yield* jobAt(2))["problem"], { code: "budget-exhausted" })
    }),
  )

  it.live("gives no job that its key may no longer enqueue, and reports that", () =>
    Effect.gen(function* () {
      const { api, due, jobs, read, withKey } = yield* setup
      const { id, key } = yield* withKey({ task: "Report.", priority: "high" })
      for (const change of [
        { roles: ["run"] },
        { roles: ["manage"], expires_at: "1970-01-01T00:00:00Z" },
        { roles: ["read"], expires_at: null },
        { roles: ["run"], agents: ["01890a5d-ac96-774b-bcce-b302099a8057"] },
        undefined,
      ]) {
        const { status } = yield* api(change === undefined ? "DELETE" : "PATCH", `/keys/${key}`, change)
        assert.isBelow(status, 300, JSON.stringify(change))
        yield* due(id)
        const problem = (yield* read(id))["last_problem"]
        assert.deepInclude(problem, { code: "schedule-key-refused" }, JSON.stringify(change))
        assert.deepStrictEqual(yield* jobs, [], JSON.stringify(change))
      }
    }),
  )

  it.live("is not delayed by one that cannot be read", () =>
    Effect.gen(function* () {
      const { change, jobs, make, passed, read } = yield* setup
      const [odd, id] = [yield* make, yield* make]
      yield* change(`UPDATE schedules SET request = '{}', next_at = 1 WHERE id = '${odd}'`)
      yield* change(`UPDATE schedules SET next_at = 2 WHERE id = '${id}'`)
      yield* passed(id)
      assert.strictEqual((yield* jobs).length, 1)
      // It is tried again after an hour, not every second.
      yield* change(`UPDATE schedules SET request = '{"task":"x"}' WHERE id = '${odd}'`)
      assert.isAbove(Date.parse(String((yield* read(odd))["next_at"])), Date.now() + 1_800_000)
    }),
  )

  it.live("is listed in pages that one answer can hold, the newest first, each exactly once", () =>
    Effect.gen(function* () {
      const { api, plan } = yield* setup
      const made: Array<unknown> = []
      for (const size of [10, 600_000, 600_000]) {
        made.unshift((yield* api("POST", "/schedules", { ...plan, request: { task: "x".repeat(size) } })).json["id"])
      }
      const pages: Array<ReadonlyArray<unknown>> = []
      for (let query: string | undefined = "?limit=100"; query !== undefined;) {
        const { json }: Answer = yield* api("GET", `/schedules${query}`)
        pages.push((json["items"] as ReadonlyArray<{ readonly id: string }>).map(({ id }) => id))
        query = json["next_cursor"] === undefined ? undefined : `?limit=100&cursor=${String(json["next_cursor"])}`
      }
      assert.deepStrictEqual(pages, [made.slice(0, 1), made.slice(1)])
      assert.lengthOf((yield* api("GET", "/schedules?limit=1")).json["items"] as ReadonlyArray<unknown>, 1)
      assert.strictEqual(problemIn(yield* api("GET", "/schedules?cursor=AAAA")).code, "cursor-invalid")
    }),
  )

  it.live("is refused without a next time or an agent, and beyond 100", () =>
    Effect.gen(function* () {
      const { api, change, make, plan } = yield* setup
      const spaced = { request: { task: "x", concurrency: { key: "a b" } } }
      for (const [members, path, words] of [
        [{ cron: "0 0 31 2 *" }, "cron", "no time matches"],
        [{ cron: "61 7 * * *" }, "cron", "the minute is not from 0 to 59"],
        [{ cron: "0 7 * * 9" }, "cron", "the day of the week is not from 0 to 7 or sun to sat"],
        [{ cron: "* * * * * *" }, "cron", "five fields"],
        [{ time_zone: "Mars" }, "time_zone", "Europe/Oslo"],
        [{ request: {} }, "request", ""],
        [spaced, "request.concurrency.key", "visible"],
      ] as const) {
        const refused = problemIn(yield* api("POST", "/schedules", { ...plan, ...members }))
        assert.deepInclude(refused, { code: "invalid-request", status: 400 }, JSON.stringify(members))
        assert.include(refused.errors?.[0]?.path, path)
        assert.include(refused.errors?.[0]?.message, words)
      }
      const missing = { ...plan, agent_id: "01890a5d-ac96-774b-bcce-b302099a8057" }
      assert.strictEqual(problemIn(yield* api("POST", "/schedules", missing)).code, "agent-not-found")
      yield* make
      const copies = Array.from({ length: 99 }, (_, i) => `SELECT 'copy-${i}' AS id`).join(" UNION ALL ")
      yield* change(`INSERT INTO schedules (id, tenant, agent_id, cron, request, next_at, created_at)
        SELECT copies.id, tenant, agent_id, cron, request, next_at, created_at FROM schedules, (${copies}) AS copies`)
      assert.strictEqual(problemIn(yield* api("POST", "/schedules", plan)).code, "too-many-schedules")
    }),
  )
})
