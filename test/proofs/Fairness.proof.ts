/** Ten tenants of one gateway, of which one floods it with jobs or calls: the others wait at most twice as long as without it. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { ask as request, startCalls } from "../support/calls.ts"
import { describeDatabases } from "../support/databases.ts"
import { call, tokenFor } from "../support/gateway.ts"
import { ask } from "./budgets/gateways.ts"

const OTHERS = 9
const EACH = 5
const FLOOD = 500
/** Long beside what the gateway and its clients compute, which share a machine here. */
const PROVIDER_MS = 1000
const BACK_AFTER_MS = 8000
const ROOM = 2

const percentile95 = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * 0.95) - 1] ?? Number.NaN

const start = Effect.fnUntraced(function* (database: Parameters<typeof startCalls>[0]) {
  const { fake, gateway } = yield* startCalls(database, {
    UPSTREAM_CONCURRENCY: "48",
    MAX_CALLS_PER_TENANT: "24",
    MAX_CONNECTIONS_PER_CLIENT: "10000",
  })
  fake.always({ text: "443", usage: { input: 1, output: 1 }, delivery: { headersAfter: PROVIDER_MS } })
  return gateway
})

const tokens = (count: number) =>
  Effect.forEach(Array.from({ length: count }).keys(), (i) => tokenFor(`tenant-${i}`, { roles: ["manage", "run"] }))

/** Five units of each tenant at once. */
const together = <A, E, R>(
  of: ReadonlyArray<string>,
  unit: (token: string) => Effect.Effect<A, E, R>,
): Effect.Effect<ReadonlyArray<A>, E, R> =>
  Effect.forEach(
    of.flatMap((token) => Array.from({ length: EACH }, () => token)),
    unit,
    { concurrency: "unbounded" },
  )

describeDatabases("while one of ten tenants floods a gateway", (database) => {
  it.live("the jobs of the others wait at most twice as long as without it", () =>
    Effect.gen(function* () {
      const { url } = yield* start(database)
      const [flood = "", ...others] = yield* tokens(1 + OTHERS)
      const agents = new Map<string, string>()
      for (const token of [flood, ...others]) {
        const { id } = yield* ask(url, token, "POST", "/api/v1/agents", { name: "a", default_mode: "verified" })
        agents.set(token, String(id))
      }
      const enqueue = (token: string) =>
        ask(url, token, "POST", `/api/v1/agents/${agents.get(token)}/execute`, { task: "Which port?" })
      /** The milliseconds that a job waits for its worker. */
      const queued = Effect.fnUntraced(function* (token: string) {
        const { id } = yield* enqueue(token)
        const done = yield* ask(url, token, "GET", `/api/v1/jobs/${String(id)}?wait=60`)
        return Date.parse(String(done["started_at"])) - Date.parse(String(done["created_at"]))
      })
      yield* together(others, queued)
      const alone = percentile95(yield* together(others, queued))
      yield* Effect.forEach(Array.from({ length: FLOOD }), () => enqueue(flood), { concurrency: 20 })
      const flooded = percentile95(yield* together(others, queued))
      const { json } = yield* call({ url }, "GET", "/api/v1/jobs/summary", { token: flood })
      assert.isAbove(Number(json["queued"]), 0, "the flood was over, so nothing was tested")
      assert.isAtMost(flooded, ROOM * alone)
      console.info(`  p95 in the queue on ${database.kind}: ${alone} ms alone, ${flooded} ms beside ${FLOOD} jobs`)
    }),
  )

  it.live("the calls of the others take at most twice as long as without it", () =>
    Effect.gen(function* () {
      const { url } = yield* start(database)
      const [flood = "", ...others] = yield* tokens(1 + OTHERS)
      const complete = (token: string) =>
        call({ url }, "POST", "/v1/chat/completions", { token, body: { ...request("Hi"), model: "model-1" } })
      const timed = Effect.fnUntraced(function* (token: string) {
        const begin = performance.now()
        const { status, text } = yield* complete(token)
        assert.strictEqual(status, 200, text)
        return performance.now() - begin
      })
      yield* together(others, timed)
      const alone = percentile95(yield* together(others, timed))
      let served = 0
      let refused = 0
      /** A client that calls without end, and comes back late after a refusal, as SDKs do. */
      const client = Effect.forever(
        Effect.flatMap(complete(flood), ({ status }) => {
          if (status === 200) served++
          else refused++
          return Effect.sleep(status === 200 ? 0 : BACK_AFTER_MS)
        }),
      )
      const flooding = yield* Effect.forEach(Array.from({ length: FLOOD }), () => Effect.forkChild(client))
      yield* Effect.repeat(Effect.sleep(PROVIDER_MS), { until: () => served + refused >= FLOOD })
      const before = served
      const flooded = percentile95(yield* together(others, timed))
      assert.isAbove(served, before, "the flood was over, so nothing was tested")
      yield* Effect.forEach(flooding, Fiber.interrupt, { concurrency: "unbounded" })
      assert.isAtMost(flooded, ROOM * alone)
      console.info(
        `  p95 of a call on ${database.kind}: ${Math.round(alone)} ms alone, ${Math.round(flooded)} ms beside ${FLOOD} clients`,
      )
    }),
  )
})
