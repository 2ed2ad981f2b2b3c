/** The gateway's API, on both databases, over real sockets. */
import { assert, it } from "@effect/vitest"
import { DateTime, Effect, Fiber, identity, Latch, Option, Schedule, type Scope, Stream } from "effect"
import { SignJWT } from "jose"
import { IdempotencyKey } from "../../src/domain/jobs/job.ts"
import { type GatewayClientService, makeGatewayApi } from "../../src/client/gateway/GatewayClientService.ts"
import { describeDatabases } from "../support/databases.ts"
import {
  call,
  databaseUrl,
  gatedUpstream,
  hasArrived,
  SECRET,
  startGateway,
  type TestGateway,
  tokenFor,
} from "../support/gateway.ts"

type Api = GatewayClientService["Service"]

const clientFor = (gateway: TestGateway, token: string): Effect.Effect<Api> =>
  makeGatewayApi({ baseUrl: gateway.url, token }, identity)

const MISSING = "01890a5d-ac96-774b-bcce-b302099a8057"

describeDatabases("the gateway", (database) => {
  const test = <E>(name: string, body: (gateway: TestGateway) => Effect.Effect<void, E, Scope.Scope>) =>
    it.live(name, () => Effect.scoped(Effect.flatMap(Effect.flatMap(databaseUrl(database), startGateway), body)))

  /** A gateway whose provider does not answer before it is allowed to. */
  const gatedFor = Effect.fnUntraced(function* (grace: string) {
    const upstream = yield* gatedUpstream
    const gateway = yield* startGateway(yield* databaseUrl(database), { SHUTDOWN_GRACE: grace }, upstream.layer)
    const api = yield* clientFor(gateway, yield* tokenFor("alice"))
    const { body: agent } = yield* api.agents.create({ payload: { name: "a" } })
    return { upstream, gateway, api, agent }
  })

  test("creates, reads, changes, lists and deletes agents", (gateway) =>
    Effect.gen(function* () {
      const api = yield* clientFor(gateway, yield* tokenFor("alice"))
      const created = yield* api.agents.create({ payload: { name: "first", role: "reviewer", metadata: { a: "1" } } })
      const { id } = created.body
      assert.deepStrictEqual(created.headers, { location: `/api/v1/agents/${id}`, etag: '"1"' })
      assert.deepInclude(created.body, { name: "first", default_mode: "adversarial", version: 1 })
      const params = { id }
      assert.deepStrictEqual((yield* api.agents.get({ params })).body, created.body)

      const changed = yield* api.agents.update({
        params,
        headers: { "if-match": '"1"' },
        payload: { role: null, limits: { max_rounds: 1 } },
      })
      assert.strictEqual(changed.headers.etag, '"2"')
      assert.notProperty(changed.body, "role")
      assert.deepStrictEqual(changed.body.limits, { max_rounds: 1, timeout_seconds: 600 })

      const stale = yield* Effect.flip(
        api.agents.update({ params, headers: { "if-match": '"1"' }, payload: { name: "lost" } }),
      )
      assert.deepInclude(stale, { status: 412, code: "agent-stale" })
      assert.deepInclude(yield* Effect.flip(api.agents.remove({ params, headers: { "if-match": '"1"' } })), {
        status: 412,
      })
      const unconditional = yield* api.agents.update({ params, headers: {}, payload: { name: "second" } })
      assert.strictEqual(unconditional.body.version, 3)

      yield* api.agents.remove({ params, headers: { "if-match": '"3"' } })
      assert.deepInclude(yield* Effect.flip(api.agents.get({ params })), { status: 404, code: "agent-not-found" })
      assert.deepInclude(yield* Effect.flip(api.agents.remove({ params, headers: {} })), { status: 404 })
    }))

  test("carries out tasks in both modes, and can be waited for", (gateway) =>
    Effect.gen(function* () {
      const api = yield* clientFor(gateway, yield* tokenFor("alice"))
      const { body: agent } = yield* api.agents.create({ payload: { name: "a" } })
      for (const mode of ["adversarial", "verified"] as const) {
        const accepted = yield* api.agents.execute({
          params: { id: agent.id },
          headers: {},
          payload: { task: "What is a seal?", mode, metadata: { ticket: "7" } },
        })
        assert.deepInclude(accepted.body, { status: "queued", mode, attempt: 1, agent_version: 1 })
        assert.deepStrictEqual(accepted.headers, { location: `/api/v1/jobs/${accepted.body.id}`, "retry-after": 1 })
        const job = yield* api.jobs.get({ params: { id: accepted.body.id }, query: { wait: 30 } })
        assert.deepInclude(job, { status: "completed", mode, metadata: { ticket: "7" }, task: "What is a seal?" })
        assert.deepInclude(job.result, { answer: "What is a seal?", verdict: "inconclusive" })
        // The echo costs nothing, however long it goes on.
        assert.strictEqual(job.at_most?.cost_micro_usd, 0)
        assert.isAbove(job.usage.calls, 0)
        assert.strictEqual(job.cost_micro_usd, 0)
        assert.isTrue(job.finished_at !== undefined && DateTime.isGreaterThan(job.expires_at, job.finished_at))
      }
      const messages = [
        { role: "system" as const, content: "Be brief." },
        { role: "user" as const, content: "And now?" },
      ]
      const accepted = yield* api.agents.execute({ params: { id: agent.id }, headers: {}, payload: { messages } })
      assert.deepStrictEqual(accepted.body.task, messages)
      assert.deepInclude(
        yield* Effect.flip(api.agents.execute({ params: { id: MISSING }, headers: {}, payload: { task: "x" } })),
        { status: 404, code: "agent-not-found" },
      )
      assert.deepInclude(yield* Effect.flip(api.jobs.get({ params: { id: MISSING }, query: { wait: 1 } })), {
        status: 404,
        code: "job-not-found",
      })
    }))

  it.live("answers a poll in time if the job does not end, and at once if it ends", () =>
    Effect.gen(function* () {
      const { agent, api, upstream } = yield* gatedFor("1s")
      const { body: job } = yield* api.agents.execute({ params: agent, headers: {}, payload: { task: "x" } })
      const early = yield* api.jobs.get({ params: job, query: { wait: 1 } })
      assert.include(["queued", "running"], early.status)
      assert.notProperty(early, "result")
      yield* upstream.open
      assert.strictEqual((yield* api.jobs.get({ params: job, query: { wait: 60 } })).status, "completed")
    }),
  )

  test("streams the steps of a job and resumes after any of them", (gateway) =>
    Effect.gen(function* () {
      const api = yield* clientFor(gateway, yield* tokenFor("alice"))
      const { body: agent } = yield* api.agents.create({ payload: { name: "a" } })
      const { body: job } = yield* api.agents.execute({
        params: agent,
        headers: {},
        payload: { task: "x", mode: "verified" },
      })
      const read = (headers: { readonly "last-event-id"?: string }) =>
        Effect.flatMap(api.jobs.events({ params: job, headers }), Stream.runCollect)
      const all = yield* read({})
      const isStored = ({ event }: (typeof all)[number]) => event === "step" || event === "ended"
      const live = all.filter(isStored)
      const ended = live.at(-1)
      assert.strictEqual(ended?.event, "ended")
      const final = yield* api.jobs.get({ params: job, query: {} })
      assert.deepStrictEqual(ended?.data, final)
      const steps = live.flatMap((event) => (event.event === "step" ? [event.data] : []))
      assert.isAbove(steps.length, 3)
      assert.deepStrictEqual(steps, final.steps)
      for (const event of all) if (event.event === "begun") assert.deepInclude(event.data, { model: "echo-1" })
      assert.deepStrictEqual(
        live.map(({ id }) => id),
        live.map((_, i) => String(i + 1)),
      )
      for (let seen = 0; seen <= live.length; seen++) {
        const later = yield* read({ "last-event-id": String(seen) })
        assert.deepStrictEqual(later.filter(isStored), live.slice(seen))
      }
      assert.deepInclude(yield* Effect.flip(api.jobs.events({ params: { id: MISSING }, headers: {} })), { status: 404 })
    }))

  test("keeps tenants apart in everything", (gateway) =>
    Effect.gen(function* () {
      const alice = yield* clientFor(gateway, yield* tokenFor("alice", { tenant: "acme" }))
      const colleague = yield* clientFor(gateway, yield* tokenFor("anna", { tenant: "acme" }))
      const mallory = yield* clientFor(gateway, yield* tokenFor("mallory", { roles: ["admin"] }))
      const { body: agent } = yield* alice.agents.create({ payload: { name: "secret" } })
      const key = { "idempotency-key": IdempotencyKey.make("same") }
      const { body: job } = yield* alice.agents.execute({ params: agent, headers: key, payload: { task: "x" } })
      yield* alice.jobs.get({ params: job, query: { wait: 30 } })
      assert.strictEqual((yield* colleague.agents.get({ params: agent })).body.name, "secret")

      assert.deepStrictEqual((yield* mallory.agents.list({ query: {} })).items, [])
      assert.deepStrictEqual((yield* mallory.jobs.list({ query: {} })).items, [])
      assert.deepStrictEqual((yield* mallory.jobs.list({ query: { agent_id: agent.id } })).items, [])
      // Mallory's key is not Alice's.
      const { body: own } = yield* mallory.agents.create({ payload: { name: "own" } })
      const other = yield* mallory.agents.execute({ params: own, headers: key, payload: { task: "y" } })
      assert.notStrictEqual(other.body.id, job.id)
      yield* mallory.jobs.get({ params: other.body, query: { wait: 30 } })
      assert.strictEqual((yield* alice.agents.get({ params: agent })).body.version, 1)

      const acme = yield* alice.routing.stats({ query: {} })
      const theirs = yield* mallory.routing.stats({ query: {} })
      const all = yield* mallory.routing.stats({ query: { scope: "all" } })
      assert.isAbove(acme.calls, 0)
      assert.strictEqual(all.calls, acme.calls + theirs.calls)
      assert.deepInclude(yield* Effect.flip(alice.routing.stats({ query: { scope: "all" } })), { status: 403 })
    }))

  test("reports what routing saved, in a span of time", (gateway) =>
    Effect.gen(function* () {
      const api = yield* clientFor(gateway, yield* tokenFor("alice"))
      const { body: agent } = yield* api.agents.create({ payload: { name: "a" } })
      const { body: job } = yield* api.agents.execute({ params: agent, headers: {}, payload: { task: "x" } })
      const { usage } = yield* api.jobs.get({ params: job, query: { wait: 30 } })
      const report = yield* api.routing.stats({ query: {} })
      assert.strictEqual(report.calls, usage.calls)
      assert.deepInclude(report.by_mode[0], { mode: "adversarial", calls: usage.calls })
      const earlier = yield* api.routing.stats({
        query: { from: DateTime.makeUnsafe("2020-01-01T00:00:00Z"), to: DateTime.makeUnsafe("2020-02-01T00:00:00Z") },
      })
      assert.strictEqual(earlier.calls, 0)
      assert.strictEqual(earlier.saved_percent, null)
      assert.notProperty(report, "over_time")
      const hourly = yield* api.routing.stats({ query: { interval: "hour" } })
      const perHour = hourly.over_time ?? []
      assert.deepStrictEqual([perHour[0]?.from, perHour.at(-1)?.to], [hourly.from, hourly.to])
    }))

  test("lets a token do what the known roles in its claim allow, and nothing without a known role", (gateway) =>
    Effect.gen(function* () {
      // Signed by hand, because our command leaves out an empty claim.
      const statusOf = Effect.fnUntraced(function* (method: string, path: string, roles?: unknown) {
        const token = yield* Effect.promise(() =>
          new SignJWT({ tenant: "acme", ...(roles === undefined ? {} : { roles }) })
            .setProtectedHeader({ alg: "HS256" })
            .setIssuer("sealgate")
            .setAudience("sealgate")
            .setSubject("alice")
            .setExpirationTime("1h")
            .sign(new TextEncoder().encode(SECRET)),
        )
        return yield* call(gateway, method, path, { token, ...(method === "POST" && { body: { name: "a" } }) })
      })
      const made = yield* statusOf("POST", "/api/v1/agents")
      assert.strictEqual(made.status, 201)
      for (const roles of [["Read"], ["ops", "run "], []]) {
        for (const path of ["/api/v1/agents", "/api/v1/jobs", "/v1/models"]) {
          const refused = yield* statusOf("GET", path, roles)
          assert.strictEqual(refused.status, 403, `${path} ${JSON.stringify(roles)}`)
          assert.include(refused.text, 'claim \\"roles\\" names none of read, run, manage, admin')
        }
      }
      assert.strictEqual((yield* statusOf("GET", "/api/v1/agents", ["ops", "read"])).status, 200)
      const reader = yield* statusOf("POST", "/api/v1/agents", ["ops", "read"])
      assert.deepInclude(reader.json, { code: "forbidden", detail: 'This needs the role "manage".' })
    }))

  test("lets administrators alone see and change the routing, whole or not at all", (gateway) =>
    Effect.gen(function* () {
      const admin = yield* clientFor(gateway, yield* tokenFor("root", { roles: ["admin"] }))
      const user = yield* clientFor(gateway, yield* tokenFor("alice", { roles: ["administrator"] }))
      const { body: before, headers } = yield* admin.routing.config({})
      assert.strictEqual(headers.etag, '"0"')
      const { version: _, ...settings } = before
      const payload = { ...settings, strategy: "fallback" as const }
      for (const attempt of [user.routing.config({}), user.routing.putConfig({ headers: {}, payload })]) {
        assert.deepInclude(yield* Effect.flip<unknown, unknown, never>(attempt), { status: 403, code: "forbidden" })
      }
      const put = yield* admin.routing.putConfig({ headers: { "if-match": '"0"' }, payload })
      assert.strictEqual(put.headers.etag, '"1"')
      assert.deepStrictEqual((yield* admin.routing.config({})).body, { ...payload, version: 1 })
      assert.deepStrictEqual(
        before.effective_prices.map(({ provider, source }) => [provider, source]),
        [["echo", "built in"]],
      )
      assert.deepInclude(yield* Effect.flip(admin.routing.putConfig({ headers: { "if-match": '"0"' }, payload })), {
        status: 412,
        code: "routing-config-stale",
      })
      const invalid = yield* Effect.flip(
        admin.routing.putConfig({
          headers: {},
          payload: { ...payload, targets: [{ provider: "provider1", model: "m", max_context_tokens: 1 }] },
        }),
      )
      assert.deepInclude(invalid, { status: 422, code: "routing-config-invalid" })
      assert.isTrue("errors" in invalid && (invalid.errors ?? []).some(({ path }) => path === "targets.0.provider"))
      assert.strictEqual((yield* admin.routing.config({})).body.version, 1)
    }))

  it.live("deletes a job after the JOB_RETENTION in force when it ended", () =>
    Effect.gen(function* () {
      const url = yield* databaseUrl(database)
      const token = yield* tokenFor("alice")
      /** Runs a job under this retention. */
      const runJob = Effect.fnUntraced(function* (retention: string) {
        const gateway = yield* startGateway(url, { JOB_RETENTION: retention })
        const api = yield* clientFor(gateway, token)
        const { body: agent } = yield* api.agents.create({ payload: { name: "a" } })
        const { body: job } = yield* api.agents.execute({ params: agent, headers: {}, payload: { task: "x" } })
        const { status } = yield* api.jobs.get({ params: job, query: { wait: 30 } })
        assert.strictEqual(status, "completed")
        yield* gateway.stop
        return job
      })
      const kept = yield* runJob("1h")
      const forgotten = yield* runJob("1ms")
      // A gateway removes expired jobs at its start, and then every hour.
      const api = yield* clientFor(yield* startGateway(url), token)
      const gone = yield* Effect.flip(api.jobs.get({ params: forgotten, query: {} })).pipe(
        Effect.retry({ schedule: Schedule.spaced("10 millis") }),
        Effect.timeout("10 seconds"),
      )
      assert.deepInclude(gone, { status: 404, code: "job-not-found" })
      assert.strictEqual((yield* api.jobs.get({ params: kept, query: {} })).status, "completed")
    }),
  )

  it.live("answers polls and ends streams at shutdown, so that callers can turn to another gateway", () =>
    Effect.gen(function* () {
      // Once it is over, the job would be queued again.
      const { agent, api, gateway, upstream } = yield* gatedFor("1m")
      const { body: job } = yield* api.agents.execute({ params: agent, headers: {}, payload: { task: "x" } })
      yield* Effect.repeat(Effect.sync(upstream.entered), { until: (calls) => calls === 1 })
      const events = yield* api.jobs.events({ params: job, headers: {} })
      const seen = yield* Latch.make()
      const stream = yield* Effect.forkChild(Stream.runCollect(Stream.tap(events, () => seen.open)))
      const poll = yield* Effect.forkChild(api.jobs.get({ params: job, query: { wait: 60 } }))
      yield* hasArrived(gateway)
      // The request arrives before the stream reports its step.
      yield* seen.await
      const stopping = yield* Effect.forkChild(Effect.timeoutOption(gateway.stop, "10 seconds"))
      // At once, although the job's call still runs.
      assert.strictEqual((yield* Fiber.join(poll)).status, "running")
      // The step that is under way, and none that has finished.
      assert.deepStrictEqual(
        (yield* Fiber.join(stream)).map(({ event, data }) => [event, "name" in data ? data.name : undefined]),
        [["begun", "propose"]],
      )
      yield* upstream.open
      assert.isTrue(Option.isSome(yield* Fiber.join(stopping)))
    }),
  )
})
