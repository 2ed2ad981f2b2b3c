/** The typed client with promises, and the gateway embedded without Effect. */
import { getEventListeners } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Gateway } from "../../src/index.ts"
import { GatewayClientService } from "../../src/client/effect.ts"
import { GatewayClient, GatewayProblem, type JobEvent, Unreachable } from "../../src/client/gateway.ts"
import { IdempotencyInFlight } from "../../src/domain/jobs/job.ts"
import { PROBLEM_CONTENT_TYPE } from "../../src/domain/problems/problem.ts"
import { sqlite } from "../support/databases.ts"
import { asPageOf } from "../support/plainRequest.ts"
import { databaseUrl, gatedUpstream, SECRET, startGateway, tokenFor } from "../support/gateway.ts"
import { failing, failureOf } from "../support/promises.ts"

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

const isStored = (event: JobEvent) => event.type === "step" || event.type === "ended"

/** A gateway whose provider waits for the gate, and a client of it. */
const gatedWith = Effect.fnUntraced(function* (environment: Readonly<Record<string, string>>) {
  const upstream = yield* gatedUpstream
  const gateway = yield* startGateway(yield* databaseUrl(sqlite), environment, upstream.layer)
  const token = yield* tokenFor("alice", { roles: ["admin"] })
  return { upstream, gateway, token, client: new GatewayClient({ baseUrl: gateway.url, token }) }
})
const gated = gatedWith({})

describe("GatewayClient", () => {
  it.live("offers the API as promises, in the wire format", () =>
    Effect.gen(function* () {
      const { client, upstream } = yield* gated
      yield* upstream.open
      yield* Effect.promise(async () => {
        const agent = await client.agents.create({ name: "a", role: "reviewer" })
        assert.match(agent.created_at, RFC_3339)
        const changed = await client.agents.update(agent.id, { name: "b" }, { ifVersion: 1 })
        assert.deepInclude(changed, { name: "b", version: 2, role: "reviewer" })
        assert.deepStrictEqual(await client.agents.get(agent.id), changed)
        await client.agents.create({ name: "c" })
        const first = await client.agents.list({ limit: 1 })
        assert.deepStrictEqual(
          first.items.map(({ name }) => name),
          ["c"],
        )
        const second = await client.agents.list({ limit: 1, cursor: first.next_cursor ?? "" })
        assert.deepStrictEqual(second.items, [changed])

        const handle = await client.agents.execute(agent.id, { task: "What is a seal?", mode: "verified" })
        const job = await handle.wait()
        assert.deepInclude(job, { id: handle.id, status: "completed", mode: "verified" })
        assert.deepStrictEqual(handle.job, job)
        assert.match(job.finished_at ?? "", RFC_3339)
        assert.deepStrictEqual(await client.jobs.get(job.id), job)
        assert.deepStrictEqual((await client.jobs.list({ agent_id: agent.id, status: "completed" })).items, [job])
        assert.deepStrictEqual((await client.jobs.list({ agent_id: agent.id, status: "failed" })).items, [])
        const events = await Array.fromAsync(handle.events())
        assert.deepStrictEqual(events.filter(isStored), [
          ...job.steps.map((step): JobEvent => ({ type: "step", step })),
          { type: "ended", job },
        ])
        assert.deepStrictEqual(await handle.cancel(), job)

        const stats = await client.routing.stats({ from: new Date(Date.now() - 60_000), scope: "all" })
        assert.strictEqual(stats.calls, job.usage.calls)
        const { over_time = [] } = await client.routing.stats({ interval: "day" })
        assert.isAtLeast(over_time.length, 1)
        assert.match(over_time[0]?.from ?? "", RFC_3339)
        const { version, ...settings } = await client.routing.config()
        const replaced = await client.routing.replaceConfig(
          { ...settings, strategy: "fallback" },
          { ifVersion: version },
        )
        assert.deepInclude(replaced, { version: 1, strategy: "fallback" })
        await client.agents.remove(agent.id, { ifVersion: 2 })
      })
    }),
  )

  it.live("rejects with the problem, or with Unreachable", () =>
    Effect.gen(function* () {
      const { client, gateway } = yield* gated
      const missing = yield* failing(client.agents.get("01890a5d-ac96-774b-bcce-b302099a8057"))
      assert.instanceOf(missing, GatewayProblem)
      assert.deepInclude(missing.problem, { status: 404, code: "agent-not-found" })
      const stale = yield* Effect.promise(async () => {
        const { id } = await client.agents.create({ name: "a" })
        return failureOf(client.agents.update(id, { name: "b" }, { ifVersion: 7 }))
      })
      assert.deepInclude(stale instanceof GatewayProblem ? stale.problem : {}, { status: 412 })
      const stranger = new GatewayClient({ baseUrl: gateway.url, token: async () => "guess" })
      const refused = yield* failing(stranger.agents.list())
      assert.deepInclude(refused instanceof GatewayProblem ? refused.problem : {}, { status: 401 })
      // An address that reaches this machine but is not one of its names.
      const elsewhere = new GatewayClient({ baseUrl: gateway.url.replace("127.0.0.1", "0.0.0.0"), token: "x" })
      const page = new GatewayClient({ baseUrl: gateway.url, token: "x", fetch: asPageOf("https://evil.example") })
      for (const call of ["list", "create", "get", "remove", "execute"] as const) {
        const ask = ({ agents }: GatewayClient) => {
          if (call === "create") return agents.create({ name: "a" })
          if (call === "execute") return agents.execute("a", { task: "x" })
          return call === "list" ? agents.list() : agents[call]("a")
        }
        const misdirected = yield* failing(ask(elsewhere))
        assert.instanceOf(misdirected, GatewayProblem, call)
        assert.deepInclude(misdirected.problem, { status: 421, code: "misdirected", retryable: false })
        assert.include(misdirected.message, "ALLOWED_HOSTS")
        const foreign = yield* failing(ask(page))
        assert.instanceOf(foreign, GatewayProblem, call)
        assert.deepInclude(foreign.problem, { status: 403, code: "cross-origin", retryable: false })
        assert.include(foreign.message, "ALLOWED_ORIGINS")
      }
      const nowhere = new GatewayClient({ baseUrl: "http://127.0.0.1:1", token: "x" })
      assert.instanceOf(yield* failing(nowhere.agents.create({ name: "a" })), Unreachable)
    }),
  )

  it.live("keeps threads and schedules of an agent", () =>
    Effect.gen(function* () {
      const { client, upstream } = yield* gated
      yield* upstream.open
      yield* Effect.promise(async () => {
        const agent = await client.agents.create({ name: "a", default_mode: "direct" })
        const thread = await client.threads.create(agent.id)
        assert.match(thread.created_at, RFC_3339)
        assert.deepStrictEqual(await client.threads.get(thread.id), thread)
        assert.deepStrictEqual((await client.threads.list()).items, [thread])
        const job = await (await client.agents.execute(agent.id, { task: "Hi", thread_id: thread.id })).wait()
        assert.strictEqual(job.thread_id, thread.id)
        await (await client.agents.execute(agent.id, { task: "Alone" })).wait()
        assert.deepStrictEqual((await client.jobs.list({ thread_id: thread.id })).items, [job])
        await client.threads.remove(thread.id)
        assert.instanceOf(await failureOf(client.jobs.get(job.id)), GatewayProblem)

        const plan = { agent_id: agent.id, cron: "0 7 * * *", time_zone: "Europe/Oslo", request: { task: "Report" } }
        const schedule = await client.schedules.create(plan)
        assert.deepInclude(schedule, plan)
        assert.match(schedule.next_at, RFC_3339)
        assert.deepStrictEqual(await client.schedules.get(schedule.id), schedule)
        assert.deepStrictEqual(await client.schedules.list(), { items: [schedule] })
        await client.schedules.remove(schedule.id)
        assert.deepStrictEqual(await client.schedules.list(), { items: [] })
      })
    }),
  )

  it.live("rejects a request that does not fit its schema as the gateway would, and names every mistake", () =>
    Effect.gen(function* () {
      const { client } = yield* gated
      const origin = "https://x.example"
      for (const [asked, path] of [
        [() => client.agents.create({ name: "" }), "name"],
        [() => client.keys.create({ name: "", roles: ["run"] }), "name"],
        [() => client.secrets.put("a", { value: "long-enough", origin: "x" }), "origin"],
        [() => client.secrets.put("a", { value: "short", origin }), "value"],
      ] as const) {
        const error = yield* failing(asked())
        assert.instanceOf(error, GatewayProblem)
        assert.deepInclude(error.problem, { code: "invalid-request", status: 400 })
        assert.isFalse(error.mayHaveBeenServed)
        assert.include(error.problem.errors?.map((each) => each.path).join(), path)
      }
    }),
  )

  it.live("gets the token before every request, so that it can be renewed", () =>
    Effect.gen(function* () {
      const { gateway, token } = yield* gated
      let asked = 0
      const client = new GatewayClient({ baseUrl: gateway.url, token: () => (++asked === 1 ? "expired" : token) })
      yield* Effect.promise(async () => {
        await failureOf(client.agents.list())
        assert.deepStrictEqual((await client.agents.list()).items, [])
      })
      assert.strictEqual(asked, 2)
    }),
  )

  it.live("stops waiting when its signal aborts, without changing the job, and can cancel it", () =>
    Effect.gen(function* () {
      const { client } = yield* gated
      const handle = yield* Effect.promise(async () => {
        const { id } = await client.agents.create({ name: "a" })
        return client.agents.execute(id, { task: "x" })
      })
      for (const wait of [
        (signal: AbortSignal) => handle.wait({ signal }),
        (signal: AbortSignal) => Array.fromAsync(handle.events({ signal })),
      ]) {
        const reason = new Error("enough")
        const controller = new AbortController()
        const waiting = failureOf(wait(controller.signal))
        yield* Effect.sleep("100 millis")
        controller.abort(reason)
        assert.strictEqual(yield* Effect.promise(() => waiting), reason)
      }
      assert.strictEqual((yield* Effect.promise(() => handle.cancel())).status, "cancelled")
      assert.strictEqual((yield* Effect.promise(() => handle.wait())).status, "cancelled")
    }),
  )

  it.live("retries safe requests, and one execution stays one job", () =>
    Effect.gen(function* () {
      const { gateway, token, upstream } = yield* gated
      yield* upstream.open
      const seen: Array<string> = []
      let failing = 2
      // The gateway does the work, and its answer gets lost.
      const lossy: typeof fetch = async (input, init) => {
        const response = await fetch(input, init)
        const isExecution = String(input).endsWith("/execute")
        if (isExecution) seen.push(new Headers(init?.headers).get("idempotency-key") ?? "")
        return isExecution && failing-- > 0 ? new Response(null, { status: 503 }) : response
      }
      const client = new GatewayClient({ baseUrl: gateway.url, token, fetch: lossy })
      yield* Effect.promise(async () => {
        const { id } = await client.agents.create({ name: "a" })
        const handle = await client.agents.execute(id, { task: "x" })
        assert.strictEqual((await handle.wait()).status, "completed")
        assert.strictEqual((await client.jobs.list()).items.length, 1)
      })
      assert.strictEqual(seen.length, 3)
      assert.strictEqual(new Set(seen).size, 1)
    }),
  )

  it.live("retries while an execution whose answer was lost is still in progress", () =>
    Effect.gen(function* () {
      const { gateway, token, upstream } = yield* gated
      yield* upstream.open
      const refused = new IdempotencyInFlight()
      const inFlight = new Response(JSON.stringify(refused.problem), {
        status: refused.status,
        headers: { "content-type": PROBLEM_CONTENT_TYPE },
      })
      const lost = ["answer", "in flight"]
      const sent: Array<string | null> = []
      const lossy: typeof fetch = async (input, init) => {
        if (!String(input).endsWith("/execute")) return fetch(input, init)
        sent.push(new Headers(init?.headers).get("idempotency-key"))
        const fate = lost.shift()
        if (fate === "in flight") return inFlight
        const response = await fetch(input, init)
        if (fate === "answer") throw new TypeError("fetch failed")
        return response
      }
      const client = new GatewayClient({ baseUrl: gateway.url, token, fetch: lossy })
      yield* Effect.promise(async () => {
        const { id } = await client.agents.create({ name: "a" })
        await client.agents.execute(id, { task: "x" })
        assert.strictEqual((await client.jobs.list()).items.length, 1)
        assert.strictEqual(sent.length, 3)
        assert.strictEqual(new Set(sent).size, 1)
        // The client does not try again what cannot succeed.
        const idempotencyKey = "once"
        await client.agents.execute(id, { task: "x" }, { idempotencyKey })
        const reused = await failureOf(client.agents.execute(id, { task: "y" }, { idempotencyKey }))
        assert.deepInclude(reused instanceof GatewayProblem ? reused.problem : {}, { code: "idempotency-key-reused" })
        assert.strictEqual(sent.length, 5)
      })
    }),
  )

  it.live("waits for a job and follows it when the tenant has used all waiting requests", () =>
    Effect.gen(function* () {
      const { client, upstream } = yield* gatedWith({ MAX_WAITING_PER_TENANT: "1" })
      const waiting = yield* Effect.promise(async () => {
        const { id } = await client.agents.create({ name: "a" })
        const handle = await client.agents.execute(id, { task: "x" })
        const first = handle.wait()
        const others = [client.jobs.wait(handle.id), client.jobs.wait(handle.id)]
        return { all: Promise.all([first, ...others]), followed: Array.fromAsync(client.jobs.events(handle.id)) }
      })
      yield* Effect.sleep("2500 millis")
      yield* upstream.open
      const all = yield* Effect.promise(() => waiting.all)
      assert.deepStrictEqual(
        all.map(({ status }) => status),
        ["completed", "completed", "completed"],
      )
      assert.strictEqual((yield* Effect.promise(() => waiting.followed)).at(-1)?.type, "ended")
    }),
  )

  it.live("removes its listener from a signal when a stream ends or is left", () =>
    Effect.gen(function* () {
      const { client, upstream } = yield* gated
      yield* upstream.open
      const { signal } = new AbortController()
      yield* Effect.promise(async () => {
        const { id } = await client.agents.create({ name: "a" })
        const handle = await client.agents.execute(id, { task: "x" })
        await handle.wait({ signal })
        await Array.fromAsync(handle.events({ signal }))
        for await (const _ of handle.events({ signal })) break
      })
      assert.deepStrictEqual(getEventListeners(signal, "abort"), [])
    }),
  )

  it.live("resumes an event stream where it was cut", () =>
    Effect.gen(function* () {
      const { gateway, token, upstream } = yield* gated
      yield* upstream.open
      const resumed: Array<string | null> = []
      /** Lets through one event of each stream. */
      const cutting: typeof fetch = async (input, init) => {
        const response = await fetch(input, init)
        if (!String(input).endsWith("/events")) return response
        resumed.push(new Headers(init?.headers).get("last-event-id"))
        const event = (await response.text()).split("\n\n").find((text) => text.startsWith("id:"))
        return new Response(`${event}\n\n`, { headers: response.headers })
      }
      const client = new GatewayClient({ baseUrl: gateway.url, token, fetch: cutting })
      yield* Effect.promise(async () => {
        const { id } = await client.agents.create({ name: "a" })
        const handle = await client.agents.execute(id, { task: "x", mode: "verified" })
        const job = await handle.wait()
        const events = await Array.fromAsync(client.jobs.events(handle.id))
        assert.deepStrictEqual(
          events.flatMap((event) => (event.type === "ended" ? event.job : event.type === "step" ? event.step : [])),
          [...job.steps, job],
        )
      })
      assert.isNull(resumed[0])
      // Each position follows the one before, and none is asked for twice.
      assert.strictEqual(new Set(resumed).size, resumed.length)
    }),
  )
})

describe("GatewayClientService", () => {
  it.live("is the same client as a layer", () =>
    Effect.gen(function* () {
      const { gateway, token } = yield* gated
      const program = Effect.gen(function* () {
        const client = yield* GatewayClientService
        const { body, headers } = yield* client.agents.create({ payload: { name: "a" } })
        assert.strictEqual(headers.etag, '"1"')
        return yield* client.agents.get({ params: body })
      })
      const agent = yield* Effect.provide(program, GatewayClientService.layer({ baseUrl: gateway.url, token }))
      assert.strictEqual(agent.body.name, "a")
    }),
  )
})

describe("Gateway", () => {
  it.live("starts and stops in a few lines", () =>
    Effect.gen(function* () {
      const filename = yield* databaseUrl(sqlite)
      const token = yield* tokenFor("alice")
      yield* Effect.promise(async () => {
        const start = () =>
          Gateway.start({
            port: 0,
            jwtSecret: Redacted.make(SECRET),
            databaseUrl: { kind: "sqlite", filename },
            logLevel: "none",
          })
        const gateway = await start()
        assert.match(gateway.url, /^http:\/\/localhost:\d+$/)
        const client = new GatewayClient({ baseUrl: gateway.url, token })
        const agent = await client.agents.create({ name: "a" })
        const job = await client.agents.execute(agent.id, { task: "x" })
        assert.strictEqual((await job.wait()).status, "completed")
        await gateway.stop()
        await failureOf(fetch(`${gateway.url}/health`))
        // Its database is closed, so the next one can open it.
        const next = await start()
        await next.stop()
      })
    }),
  )

  it.live("does not start without a way to check tokens", () =>
    Effect.gen(function* () {
      const error = yield* failing(Gateway.start({ port: 0, logLevel: "none" }))
      assert.match(String(error), /JWT_SECRET/)
    }),
  )
})
