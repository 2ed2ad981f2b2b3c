/**
 * What answering `/api/v1/routing/stats` costs with a month of 1,000,000 calls in the embedded database: from the hourly
 * sums, beside adding up the same rows. Both must come to the same. `node bench/ledger.ts [rows]`
 */
import { deepStrictEqual } from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Console, DateTime, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { layerSqlite } from "../src/layers/database/Database.ts"
import type { CallRecord } from "../src/services/routing/CallRecord.ts"
import { HOUR_MS, SUM_COLUMNS, SUMS_OF_CALLS, type Sums } from "../src/services/routing/HourlySums.ts"
import { Ledger } from "../src/services/routing/Ledger.ts"
import { RoutingStats, type StatsQuery } from "../src/services/routing/RoutingStats.ts"

const ROWS = Number(process.argv[2] ?? 1_000_000)
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

/** The same calls in every run, spread over the month. */
const callAt = (i: number): CallRecord => {
  const [provider, model] = TARGETS[i % TARGETS.length] ?? TARGETS[0]
  const id = SecureRandom.uuidV7Unsafe()
  const failed = i % 50 === 0
  return {
    id,
    at: START + Math.floor((i / ROWS) * HOURS * HOUR_MS),
    requestId: id,
    first: true,
    tenant: `tenant-${i % TENANTS}`,
    job: `job-${Math.floor(i / 8)}`,
    agent: `agent-${i % 100}`,
    mode: i % 3 === 0 ? "adversarial" : "verified",
    strategy: "cost",
    role: "proposer",
    provider,
    model,
    servedModel: model,
    tokens: { input: 500 + (i % 1000), output: 100 + (i % 300), cached: i % 400 },
    priceVersion: "bench",
    cost: i % 97 === 0 ? null : 100 + (i % 1000),
    baseline: failed ? 0 : 500 + (i % 2000),
    latency: 1000,
    ttft: 300,
    outcome: failed ? "timeout" : "success",
  }
}

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "sealgate-bench-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true })),
)

const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const began = performance.now()
    const value = yield* effect
    return { value, ms: performance.now() - began }
  })

/** The median of several runs. */
const median = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>) {
  const times: Array<number> = []
  for (let run = 0; run < RUNS; run++) times.push((yield* timed(effect)).ms)
  return times.sort((a, b) => a - b)[Math.floor(RUNS / 2)] ?? Number.NaN
})

/** The sums of all rows of a span, from the rows themselves. */
const sumsOfRows = Effect.fnUntraced(function* ({ from, tenant, to }: StatsQuery) {
  const sql = yield* SqlClient.SqlClient
  const sums = sql.literal(SUM_COLUMNS.map((name) => `SUM(${SUMS_OF_CALLS[name]}) AS ${name}`).join(", "))
  const ofTenant = tenant === undefined ? sql`` : sql`tenant = ${tenant} AND `
  const rows = yield* sql<Sums>`SELECT ${sums} FROM ledger_calls WHERE
    ${ofTenant}at >= ${DateTime.toEpochMillis(from)} AND at < ${DateTime.toEpochMillis(to)}`
  return rows[0]
})

const program = Effect.gen(function* () {
  const ledger = yield* Ledger
  const stats = yield* RoutingStats

  const filled = yield* timed(
    Effect.forEach(
      Array.from({ length: Math.ceil(ROWS / ROWS_PER_WRITE) }, (_, write) => write * ROWS_PER_WRITE),
      (first) =>
        ledger.record(Array.from({ length: Math.min(ROWS_PER_WRITE, ROWS - first) }, (_, i) => callAt(first + i))),
      { discard: true },
    ),
  )
  yield* Console.log(`${ROWS.toLocaleString("en")} ledger rows written in ${(filled.ms / 1000).toFixed(1)} s`)

  const one = (at: number) => timed(ledger.record([{ ...callAt(0), at }]))
  yield* one(START)
  yield* Console.log(`one more call entered, with its sums: ${(yield* one(START)).ms.toFixed(2)} ms`)

  // Half an hour into the first hour and out of the last, so that both ends are hours in part.
  const month: StatsQuery = {
    from: DateTime.makeUnsafe(START + HOUR_MS / 2),
    to: DateTime.makeUnsafe(START + HOURS * HOUR_MS - HOUR_MS / 2),
  }
  for (const [name, query] of [
    ["all tenants", month],
    ["one tenant", { ...month, tenant: "tenant-1" }],
  ] as const) {
    const scan = yield* timed(sumsOfRows(query))
    const { actual_micro_usd: cost, baseline_micro_usd: baseline, calls } = yield* stats.report(query)
    deepStrictEqual(
      { calls, cost, baseline },
      {
        calls: scan.value?.calls,
        cost: scan.value?.cost,
        baseline: scan.value?.baseline,
      },
    )
    const ms = yield* median(stats.report(query))
    yield* Console.log(
      `a month, ${name}: ${ms.toFixed(1)} ms from hourly sums (target < ${TARGET_MS}), ` +
        `${scan.ms.toFixed(0)} ms from the rows, ${(scan.ms / ms).toFixed(0)} times faster, same figures`,
    )
  }
})

const main = Effect.scoped(
  Effect.flatMap(folder, (path) =>
    Effect.provide(
      program,
      Layer.mergeAll(Ledger.layer, RoutingStats.layer).pipe(
        Layer.provideMerge(layerSqlite({ filename: join(path, "ledger.db") })),
      ),
    ),
  ),
)

NodeRuntime.runMain(main)
