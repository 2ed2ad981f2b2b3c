/** Gateways of one Postgres before the provider of the proofs, with a key worth a number of calls. */
import { assert } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { layerPostgresClient } from "../../../src/layers/database/PostgresClient.ts"
import { postgresSchema } from "../../support/databases.ts"
import { call, tokenFor } from "../../support/gateway.ts"
import { GATEWAYS, keyOf, startFleet } from "../fleet.ts"
import { PRICE, runBudgetProvider } from "./Provider.ts"

/** The model's calls are priced: input is free. */
export const MODEL = "good"
/** A gateway that died leaves no reservation for longer. */
export const LEFT_FOR_MS = 30_000

export const ask = Effect.fnUntraced(function* (
  url: string,
  token: string,
  method: string,
  path: string,
  body?: object,
) {
  const answer = yield* call({ url }, method, path, { token, body })
  assert.isBelow(answer.status, 300, answer.text)
  return answer.json
})

/** Prices the model. */
const priceModel = Effect.fnUntraced(function* (url: string, admin: string) {
  const prices = { input: 0, output: PRICE * 1_000_000, cached_input: 0 }
  const target = { provider: "provider1", model: MODEL }
  const { effective_prices: _, version: __, ...config } = yield* ask(url, admin, "GET", "/api/v1/routing/config")
  yield* ask(url, admin, "PUT", "/api/v1/routing/config", {
    ...config,
    baseline: target,
    targets: [{ ...target, max_context_tokens: 100_000, prices }],
  })
})

/** Starts the gateways. `kill` starts another one in the place of the killed one. */
export const startGateways = Effect.fnUntraced(function* (environment: Readonly<Record<string, string>>) {
  const database = yield* postgresSchema
  const provider = yield* runBudgetProvider
  const fleet = yield* startFleet((slot) => ({
    DATABASE_URL: database,
    PROVIDER1_API_KEY: keyOf(slot),
    PROVIDER1_BASE_URL: provider.url,
    PROVIDER1_MODEL: MODEL,
    UPSTREAM_FIRST_TOKEN_TIMEOUT: "10min",
    ...environment,
  }))
  const at = (n: number) => fleet.all[n % GATEWAYS] ?? assert.fail("no such gateway")
  const kill = (slot: number) => Effect.andThen(fleet.kill(slot), fleet.restart(slot))
  const admin = yield* tokenFor("boss", { roles: ["admin"] })
  yield* priceModel(at(0).url, admin)
  return { database, provider, at, kill, admin }
})

/** Makes a key worth an amount in micro-USD; `use` asks a gateway for the use of its budget. */
export const makeKey = Effect.fnUntraced(function* (url: string, admin: string, worth: number) {
  const budgets = [{ per: "total", max_cost_micro_usd: worth }]
  const { id, key } = yield* ask(url, admin, "POST", "/api/v1/keys", { name: "k", roles: ["run"], budgets })
  const use = (url: string) =>
    Effect.map(ask(url, admin, "GET", `/api/v1/budgets?key=${String(id)}`), ({ items }) => {
      const [budget] = items as ReadonlyArray<object> // The contract describes this shape.
      return budget
    })
  return { key: String(key), use }
})

interface Sums {
  readonly known: number
  readonly charged: number
  readonly estimates: number
}

const inDatabase = (database: string) =>
  Effect.provide(layerPostgresClient({ url: Redacted.make(database), maxConnections: 1 }))

/** Sums of the ledger. */
export const sumsIn = (database: string) =>
  SqlClient.SqlClient.use(
    (sql) => sql<Sums>`SELECT COALESCE(SUM(cost), 0)::int AS known, SUM(COALESCE(cost, charged_cost))::int AS charged,
      SUM(estimated)::int AS estimates FROM ledger_calls`,
  ).pipe(
    Effect.map(([sums]) => sums ?? { known: 0, charged: 0, estimates: 0 }),
    inDatabase(database),
  )

/** Waits until there is no reservation. Returns the milliseconds from `since`, of `performance.now()`. */
export const reservationsGone = (database: string, since: number) =>
  SqlClient.SqlClient.use((sql) =>
    Effect.repeat(
      Effect.delay(sql<{ left: number }>`SELECT COUNT(*)::int AS left FROM budget_reservations`, "200 millis"),
      { until: ([row]) => row?.left === 0 },
    ),
  ).pipe(
    inDatabase(database),
    Effect.timeout(3 * LEFT_FOR_MS),
    Effect.map(() => performance.now() - since),
  )
