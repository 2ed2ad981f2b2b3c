/** Cost of a month's report over 1,000,000 calls in the embedded database, from hourly sums and from the rows. */
import { deepStrictEqual } from "node:assert/strict"
import { join } from "node:path"
import { DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { layerSqlite } from "../../src/layers/database/Database.ts"
import type { CallRecord } from "../../src/services/routing/CallRecord.ts"
import { HOUR_MS, SUM_COLUMNS, SUMS_OF_CALLS, type Sums } from "../../src/services/routing/HourlySums.ts"
import { Ledger } from "../../src/services/routing/Ledger.ts"
import { RoutingStats, type StatsQuery } from "../../src/services/routing/RoutingStats.ts"
import { callRecord } from "../../test/services/routing/callRecords.ts"
import { temporaryFolder } from "../../test/support/proxy.ts"
import type { Case, Figure } from "../harness/Case.ts"
import { median } from "../harness/compare.ts"

const ROWS_PER_WRITE = 1000
const HOURS = 30 * 24
const TARGET_MS = 50
const RUNS = 7

const START = 495_000 * HOUR_MS
const TARGETS = [
  ["provider1", "gpt-6-luna"],
  ["provider1", "gpt-6.1-sol"],
  ["provider3", "claude-haiku-5-5"],
  ["provider3", "claude-sonnet-5-5"],
  ["provider4", "gemini-3.8-flash"],
  ["provider4", "gemini-2.5-pro"],
] as const
const TENANTS = 5

/** Generates the same calls in every run, spread over the month. */
const callAt = (i: number, rows: number): CallRecord => {
  const [provider, model] = TARGETS[i % TARGETS.length] ?? TARGETS[0]
  const failed = i % 50 === 0
  return callRecord({
    at: START + Math.floor((i / rows) * HOURS * HOUR_MS),
    tenant: `tenant-${i % TENANTS}`,
    job: `job-${Math.floor(i / 8)}`,
    agent: `agent-${i % 100}`,
    mode: i % 3 === 0 ? "adversarial" : "verified",
    provider,
    model,
    servedModel: model,
    tokens: { input: 500 + (i % 1000), output: 100 + (i % 300), cached: i % 400 },
    cost: i % 97 === 0 ? null : 100 + (i % 1000),
    charged: { tokens: 600, cost: 100 + (i % 1000) },
    baseline: failed ? 0 : 500 + (i % 2000),
    latency: 1000,
    ttft: 300,
    outcome: failed ? "timeout" : "success",
  })
}

const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const began = performance.now()
    const value = yield* effect
    return { value, ms: performance.now() - began }
  })

/** Returns the median time of several runs, in milliseconds. */
const medianOf = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>) {
  const times: Array<number> = []
  for (let run = 0; run < RUNS; run++) times.push((yield* timed(effect)).ms)
  return median(times)
})

const sumsOfRows = Effect.fnUntraced(function* ({ from, tenant, to }: StatsQuery) {
  const sql = yield* SqlClient.SqlClient
  const sums = sql.literal(SUM_COLUMNS.map((name) => `SUM(${SUMS_OF_CALLS[name]}) AS ${name}`).join(", "))
  const ofTenant = tenant === undefined ? sql`` : sql`tenant = ${tenant} AND `
  const rows = yield* sql<Sums>`SELECT ${sums} FROM ledger_calls WHERE
    ${ofTenant}at >= ${DateTime.toEpochMillis(from)} AND at < ${DateTime.toEpochMillis(to)}`
  return rows[0]
})

const program = Effect.fnUntraced(function* (rows: number) {
  const ledger = yield* Ledger
  const stats = yield* RoutingStats
  yield* Effect.forEach(
    Array.from({ length: Math.ceil(rows / ROWS_PER_WRITE) }, (_, write) => write * ROWS_PER_WRITE),
    (first) => ledger.record(Array.from({ length: ROWS_PER_WRITE }, (_, i) => callAt(first + i, rows))),
    { discard: true },
  )
  const one = medianOf(Effect.suspend(() => ledger.record([{ ...callAt(0, rows), at: START }])))
  const entered = yield* one
  // Begins and ends half past the hour, so that both ends cover part of an hour.
  const month: StatsQuery = {
    from: DateTime.makeUnsafe(START + HOUR_MS / 2),
    to: DateTime.makeUnsafe(START + HOURS * HOUR_MS - HOUR_MS / 2),
  }
  const figures: Array<Figure> = [{ what: "to enter one more call, with its sums", unit: "ms", value: entered }]
  for (const [name, query] of [
    ["all tenants", month],
    ["one tenant", { ...month, tenant: "tenant-1" }],
  ] as const) {
    const scan = yield* timed(sumsOfRows(query))
    const { actual_micro_usd: cost, baseline_micro_usd: baseline, calls } = yield* stats.report(query)
    // Both reports must be equal.
    deepStrictEqual(
      { calls, cost, baseline },
      { calls: scan.value?.calls, cost: scan.value?.cost, baseline: scan.value?.baseline },
    )
    const value = yield* medianOf(stats.report(query))
    figures.push(
      { what: `report of a month, ${name}`, unit: "ms", value, atMost: TARGET_MS },
      { what: `the same from the rows, ${name}`, unit: "ms", value: scan.ms },
    )
  }
  return { figures }
})

export const ledger: Case = {
  name: "ledger",
  title: "Reports of a month in the embedded database",
  unit: "a report",
  run: async (bench) => {
    const folder = await bench.use(temporaryFolder)
    const services = Layer.mergeAll(Ledger.layer, RoutingStats.layer).pipe(
      Layer.provideMerge(layerSqlite({ filename: join(folder, "ledger.db") })),
    )
    return bench.use(Effect.provide(program(bench.count(1_000_000, 50_000)), services))
  },
}
