/**
 * A thousand jobs of a key worth a hundred calls, on three gateways with one Postgres, each killed twice midway: exactly the
 * budget is spent, no reservation is left, and the ledger agrees with the budget and with the provider's bill.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { layerPostgresClient } from "../../src/layers/database/PostgresClient.ts"
import { postgresIsThere, postgresSchema } from "../support/databases.ts"
import { call, SECRET, tokenFor } from "../support/gateway.ts"
import { run } from "../support/processes.ts"
import { PRICE, runBudgetProvider } from "./budgets/Provider.ts"
import { until } from "./cluster/looks.ts"

const GATEWAYS = 3
const JOBS = 1000
const CALLS = 100
const KILLS = 2 * GATEWAYS
/** Jobs that a gateway works on at once; a kill loses at most as many calls. */
const WORKERS = 7
/** Calls answered between two kills. */
const BETWEEN = 5
/** The longest answer of a call without a limit of its own. */
const WORST = 8192 * PRICE
const LEFT_FOR_MS = 30_000
const MODEL = "good"

const keyOf = (slot: number) => `key-of-gateway-${slot}`

const startGateway = Effect.fnUntraced(function* (slot: number, database: string, provider: string) {
  const running = yield* run(["gateway"], {
    env: {
      PORT: "0",
      HOST: "127.0.0.1",
      LOG_FORMAT: "json",
      JWT_SECRET: SECRET,
      DATABASE_URL: database,
      JOB_WORKERS: String(WORKERS),
      JOB_TENANT_PERCENT: "100",
      PROVIDER1_API_KEY: keyOf(slot),
      PROVIDER1_BASE_URL: provider,
      PROVIDER1_MODEL: MODEL,
      UPSTREAM_RETRIES: "0",
      UPSTREAM_FIRST_TOKEN_TIMEOUT: "10min",
      RATE_LIMIT_READ: "0",
      RATE_LIMIT_WRITE: "0",
      RATE_LIMIT_EXECUTE: "0",
    },
  })
  const url = yield* Effect.promise(() => running.line((line) => /listening on (http:[^"\s]+)/.exec(line)?.[1]))
  return { ...running, url }
})

const ask = Effect.fnUntraced(function* (url: string, token: string, method: string, path: string, body?: object) {
  const answer = yield* call({ url }, method, path, { token, ...(body === undefined ? {} : { body }) })
  assert.isBelow(answer.status, 300, answer.text)
  return answer.json
})

/** Prices the model, and makes an agent and a key worth the calls. Returns what gives the agent a task. */
const prepare = Effect.fnUntraced(function* (url: string, admin: string) {
  const prices = { input: 0, output: PRICE * 1_000_000, cached_input: 0 }
  const target = { provider: "provider1", model: MODEL }
  const { effective_prices: _, version: __, ...config } = yield* ask(url, admin, "GET", "/api/v1/routing/config")
  yield* ask(url, admin, "PUT", "/api/v1/routing/config", {
    ...config,
    baseline: target,
    targets: [{ ...target, max_context_tokens: 100_000, prices }],
  })
  const agent = yield* ask(url, admin, "POST", "/api/v1/agents", { name: "a", default_mode: "verified" })
  const budgets = [{ per: "total", max_cost_micro_usd: CALLS * WORST }]
  const { id, key } = yield* ask(url, admin, "POST", "/api/v1/keys", { name: "k", roles: ["run"], budgets })
  const execute = ask(url, String(key), "POST", `/api/v1/agents/${String(agent["id"])}/execute`, {
    task: "Which port?",
  })
  return { execute, budgetPath: `/api/v1/budgets?key=${String(id)}` }
})

interface Sums {
  readonly known: number
  readonly charged: number
  readonly estimates: number
}

describe.skipIf(!postgresIsThere)("a key worth a hundred calls, with a thousand jobs and six kills", () => {
  it.live("spends exactly its budget, leaves no reservation, and the ledger agrees with the bill", () =>
    Effect.gen(function* () {
      const database = yield* postgresSchema
      const provider = yield* runBudgetProvider
      const start = (slot: number) => startGateway(slot, database, provider.url)
      const gateways = yield* Effect.forEach(Array.from({ length: GATEWAYS }).keys(), start)
      const at = (slot: number) => gateways[slot] ?? assert.fail("no such gateway")
      const admin = yield* tokenFor("boss", { roles: ["admin"] })
      const { budgetPath, execute } = yield* prepare(at(0).url, admin)
      yield* Effect.all(
        Array.from({ length: JOBS }, () => execute),
        { concurrency: 20 },
      )

      for (let kill = 0; kill < KILLS; kill++) {
        const slot = kill % GATEWAYS
        const before = provider.calls()
        provider.release(BETWEEN)
        // The next calls came, so the answers of the released ones were stored.
        yield* until(() => provider.calls() >= before + BETWEEN && provider.underWay(keyOf(slot)) > 0)
        at(slot).kill("SIGKILL")
        yield* Effect.promise(() => at(slot).exit)
        gateways[slot] = yield* start(slot)
      }
      const lastKill = performance.now()
      provider.release(Infinity)

      const inDatabase = <A, E>(query: Effect.Effect<A, E, SqlClient.SqlClient>) =>
        Effect.provide(query, layerPostgresClient({ url: Redacted.make(database), maxConnections: 1 }))
      const reservationsGone = Effect.runPromise(
        inDatabase(
          SqlClient.SqlClient.use((sql) =>
            Effect.repeat(
              Effect.delay(sql<{ left: number }>`SELECT COUNT(*)::int AS left FROM budget_reservations`, "200 millis"),
              { until: ([row]) => row?.left === 0 },
            ),
          ),
        ),
      ).then(() => performance.now() - lastKill)
      yield* until(async () => {
        const { json } = await Effect.runPromise(call(at(0), "GET", "/api/v1/jobs/summary", { token: admin }))
        return json["queued"] === 0 && json["running"] === 0
      })
      const leftMs = yield* Effect.promise(() => reservationsGone)
      assert.isAtMost(leftMs, LEFT_FOR_MS)

      const [sums] = yield* inDatabase(
        SqlClient.SqlClient.use(
          (sql) => sql<Sums>`SELECT SUM(cost)::int AS known, SUM(COALESCE(cost, charged_cost))::int AS charged,
            SUM(estimated)::int AS estimates FROM ledger_calls`,
        ),
      )
      const { items } = yield* ask(at(0).url, admin, "GET", budgetPath)
      const [budget] = items as ReadonlyArray<object> // The contract describes this shape.
      assert.deepInclude(budget, { spent_micro_usd: CALLS * WORST, reserved_micro_usd: 0, left_micro_usd: 0 })
      const { charged = 0, estimates = 0, known = 0 } = sums ?? {}
      assert.strictEqual(charged, CALLS * WORST, "the ledger and the budget differ")
      assert.isAbove(estimates, 0, "no kill hit a call under way, so nothing was tested")
      // A call that was reserved but not sent when its process died is an estimate without a bill.
      assert.isAtMost(provider.bill(), charged)
      assert.isAtLeast(provider.bill(), known)
      console.info(
        `  ${JOBS} jobs, ${KILLS} kills: ${provider.calls()} calls billed ${provider.bill()} of ${CALLS * WORST} micro-USD, ` +
          `${known} known and ${charged - known} estimated for ${estimates} calls; no reservation ${Math.round(leftMs)} ms after the last kill`,
      )
    }),
  )
})
