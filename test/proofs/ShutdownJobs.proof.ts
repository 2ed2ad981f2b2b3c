/** Shutdown of real gateways with jobs in flight: each job ends once, in the next process. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, type Scope } from "effect"
import { postgresIsThere, postgresSchema, sqliteFile } from "../support/databases.ts"
import { call, SECRET, tokenFor } from "../support/gateway.ts"
import { run } from "../support/processes.ts"
import { makeRelay } from "../support/relay.ts"
import { openSocket } from "../support/sockets.ts"
import { until } from "./cluster/looks.ts"
import { runJobProvider } from "./shutdown/JobProvider.ts"
import { runGateway } from "../support/gatewayProcess.ts"

const JOBS = 50
const IDLE = 20
const GRACE_MS = 10_000
/** Connections linger for 0.5 s; the rest is for a busy machine. */
const MARGIN_MS = 500 + 4000
/** Time beyond its grace after which a server forces its exit. */
const OVERTIME_MS = 8000

type Provider = Effect.Success<typeof runJobProvider>

const startGateway = (provider: Provider, database: string, workers = JOBS) =>
  runGateway({
    env: {
      DATABASE_URL: database,
      SHUTDOWN_GRACE: `${GRACE_MS}ms`,
      JOB_WORKERS: String(workers),
      JOB_TENANT_PERCENT: "100",
      PROVIDER1_API_KEY: "key",
      PROVIDER1_BASE_URL: provider.url,
      UPSTREAM_FIRST_TOKEN_TIMEOUT: "10min",
      RATE_LIMIT_READ: "0",
      RATE_LIMIT_WRITE: "0",
      RATE_LIMIT_EXECUTE: "0",
    },
  })
type Gateway = Effect.Success<ReturnType<typeof startGateway>>

const exitOf = (gateway: Gateway) => Effect.promise(() => gateway.exit)

/** Enqueues the jobs, and returns when each has finished its first step and begun its second. */
const occupy = Effect.fnUntraced(function* (gateway: Gateway, provider: Provider, token: string) {
  const { json: agent } = yield* call(gateway, "POST", "/api/v1/agents", { token, body: { name: "a" } })
  const execute = `/api/v1/agents/${agent["id"]}/execute`
  const ids: Array<string> = []
  for (let n = 0; n < JOBS; n++) {
    const body = { task: `task-${n}`, mode: "adversarial", options: { rounds: 1 } }
    const { json, status } = yield* call(gateway, "POST", execute, { token, body })
    assert.strictEqual(status, 202)
    ids.push(String(json["id"]))
  }
  yield* until(() => provider.calls().filter((name) => name.endsWith(" critic")).length === JOBS)
  return ids
})

interface StepJson {
  readonly name: string
  readonly status: string
}

const jobOf = Effect.fnUntraced(function* (gateway: Gateway, token: string, id: string, wait = 0) {
  const { json } = yield* call(gateway, "GET", `/api/v1/jobs/${id}?wait=${wait}`, { token })
  // Other tests check the gateway's API against its schema.
  const steps = json["steps"] as ReadonlyArray<StepJson>
  return {
    status: json["status"],
    attempt: json["attempt"],
    costKnown: json["cost_micro_usd"] !== null,
    steps: steps.map(({ name, status }) => `${name} ${status}`),
  }
})

/** Whether the calls in flight at the signal are answered within the grace period. */
type Answered = "in time" | "too late"

/** Asserts that answered calls were made once and interrupted calls twice. */
const expectedCalls = (answered: Answered) =>
  Array.from({ length: JOBS }, (_, n) =>
    ["proposer", "critic", ...(answered === "in time" ? [] : ["critic"]), "judge"].map((role) => `task-${n} ${role}`),
  ).flat()

const handsOver = Effect.fnUntraced(function* (
  database: Effect.Effect<string, never, Scope.Scope>,
  answered: Answered,
) {
  const url = yield* database
  const provider = yield* runJobProvider
  const token = yield* tokenFor("alice")
  const first = yield* startGateway(provider, url)
  const port = Number(new URL(first.url).port)
  const ids = yield* occupy(first, provider, token)
  const idle = yield* Effect.forEach(Array.from({ length: IDLE }), () =>
    openSocket(port, "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"),
  )
  const watched = `/api/v1/jobs/${ids[0]}`
  const events = call(first, "GET", `${watched}/events`, { token })
  const polled = call(first, "GET", `${watched}?wait=50`, { token })
  const waiting = yield* Effect.forkChild(Effect.all([events, polled], { concurrency: 2 }))
  yield* call(first, "GET", "/health")

  const signalled = performance.now()
  first.kill("SIGTERM")
  const [followed, looked] = yield* Fiber.join(waiting)
  assert.strictEqual(followed.status, 200)
  assert.notInclude(followed.text, "event: ended")
  assert.strictEqual(looked.status, 200)
  if (answered === "in time") provider.release()
  assert.strictEqual(yield* exitOf(first), 0)
  yield* until(() => provider.requests().every(({ ending }) => ending !== undefined))
  assert.isBelow(performance.now() - signalled, GRACE_MS + MARGIN_MS)
  for (const socket of idle) yield* Effect.promise(() => socket.ended)
  assert.deepStrictEqual(first.stderr, [])

  const onlooker = yield* startGateway(provider, url, 0)
  for (const id of ids) {
    const { attempt, costKnown, status, steps } = yield* jobOf(onlooker, token, id)
    const stored = answered === "in time" ? ["propose completed", "critique-1 completed"] : ["propose completed"]
    assert.deepStrictEqual({ status, attempt, steps }, { status: "queued", attempt: 1, steps: stored })
    assert.strictEqual(costKnown, answered === "in time")
  }
  onlooker.kill("SIGTERM")
  assert.strictEqual(yield* exitOf(onlooker), 0)

  provider.release()
  yield* finish(yield* startGateway(provider, url), token, ids)
  assert.sameMembers(provider.calls(), expectedCalls(answered))
}, Effect.scoped)

const finish = Effect.fnUntraced(function* (gateway: Gateway, token: string, ids: ReadonlyArray<string>) {
  for (const id of ids) {
    const { attempt, status, steps } = yield* jobOf(gateway, token, id, 60)
    assert.deepStrictEqual(
      { status, attempt, steps },
      { status: "completed", attempt: 1, steps: ["propose completed", "critique-1 completed", "judge completed"] },
    )
  }
})

describe("a gateway with 50 jobs in flight", () => {
  it.live("hands them to the next process on the embedded database if calls are answered after the grace period", () =>
    handsOver(sqliteFile, "too late"),
  )

  it.live.skipIf(!postgresIsThere)(
    "hands them to the next process on Postgres if calls are answered within the grace period",
    () => handsOver(postgresSchema, "in time"),
  )
})

/** The same database, through a relay. */
const relayed = Effect.fnUntraced(function* (url: string) {
  const { hostname, port } = new URL(url)
  const relay = yield* makeRelay(Number(port === "" ? "5432" : port), hostname)
  const through = new URL(url)
  through.host = `127.0.0.1:${relay.port}`
  return { ...relay, url: through.toString().replaceAll("+", "%20") }
})

describe.skipIf(!postgresIsThere)("a gateway whose Postgres is gone", () => {
  it.live.each(["refuse", "fallSilent"] as const)("exits and loses no job: %s", (goAway) =>
    Effect.gen(function* () {
      const url = yield* postgresSchema
      const relay = yield* relayed(url)
      const provider = yield* runJobProvider
      const token = yield* tokenFor("alice")
      const gateway = yield* startGateway(provider, relay.url)
      const ids = yield* occupy(gateway, provider, token)
      relay[goAway]()
      // Critics answer now, when their steps can no longer be stored.
      provider.release()
      yield* until(() => provider.requests().every(({ ending }) => ending !== undefined))

      const signalled = performance.now()
      gateway.kill("SIGTERM")
      assert.include([0, 1], yield* exitOf(gateway))
      assert.isBelow(performance.now() - signalled, GRACE_MS + OVERTIME_MS + MARGIN_MS)
      for (const line of [...gateway.stdout, ...gateway.stderr]) assert.notInclude(line, "task-")

      yield* finish(yield* startGateway(provider, url), token, ids)
    }),
  )

  it.live("stops at once while a start waits for Postgres", () =>
    Effect.gen(function* () {
      const relay = yield* relayed(yield* postgresSchema)
      relay.fallSilent()
      const env = { PORT: "0", LOG_FORMAT: "json", JWT_SECRET: SECRET, DATABASE_URL: relay.url }
      const starting = yield* run(["gateway"], { env })
      yield* Effect.promise(() => relay.connected)
      starting.kill("SIGTERM")
      assert.strictEqual(yield* Effect.promise(() => starting.exit), 0)
      assert.deepStrictEqual(starting.stderr, [])
    }),
  )
})
