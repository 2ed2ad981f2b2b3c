/**
 * What routing saved in a span of time. Whole hours are answered from the hourly sums; the parts of hours at the two
 * ends are added up from the ledger itself, so every span is exact and none reads more than two hours of rows.
 */
import { Context, DateTime, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Mode } from "../../domain/agent.ts"
import { percentOf } from "../../domain/money.ts"
import { Strategy } from "../../domain/routing.ts"
import { METHOD, type RoutingStatsReport, type Savings } from "../../domain/savings.ts"
import type { StorageUnavailable } from "../../domain/storage.ts"
import { decodeRows, unavailable } from "../storage.ts"
import { addSums, ALL_TENANTS, HOUR_MS, NO_SUMS, type Sums, SUM_COLUMNS, SUMS_OF_CALLS } from "./HourlySums.ts"
import { PRICE_TABLE } from "./PriceTable.ts"

/** `from` is included, `to` is not; without a `tenant` the question is about all of them. */
export interface StatsQuery {
  readonly from: DateTime.Utc
  readonly to: DateTime.Utc
  readonly tenant?: string | undefined
}

const Group = Schema.Struct({
  mode: Schema.Union([Mode, Schema.Literal("")]),
  strategy: Strategy,
  provider: Schema.String,
  model: Schema.String,
  requests: Schema.Int,
  calls: Schema.Int,
  failed: Schema.Int,
  unpriced: Schema.Int,
  input_tokens: Schema.Int,
  output_tokens: Schema.Int,
  cached_tokens: Schema.Int,
  cost: Schema.Int,
  compared: Schema.Int,
  baseline: Schema.Int,
})
type Group = typeof Group.Type
const decodeGroups = decodeRows("ledger", Group)

const GROUPS = "mode, strategy, provider, model"
const sumsOver = (expression: (name: keyof Sums) => string): string =>
  SUM_COLUMNS.map((name) => `CAST(SUM(${expression(name)}) AS BIGINT) AS ${name}`).join(", ")
const OF_HOURS = `${GROUPS}, ${sumsOver((name) => name)}`
const OF_CALLS = `${GROUPS}, ${sumsOver((name) => SUMS_OF_CALLS[name])}`

export class RoutingStats extends Context.Service<
  RoutingStats,
  {
    readonly report: (query: StatsQuery) => Effect.Effect<RoutingStatsReport, StorageUnavailable>
    /** The same report from the rows of the ledger alone, however many there are: what the sums are checked against. */
    readonly reportFromCalls: (query: StatsQuery) => Effect.Effect<RoutingStatsReport, StorageUnavailable>
  }
>()("sealgate/services/routing/RoutingStats") {
  static readonly layer = Layer.effect(
    RoutingStats,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const fromCalls = (from: number, to: number, tenant: string | undefined) =>
        from >= to
          ? Effect.succeed([])
          : sql`SELECT ${sql.literal(OF_CALLS)} FROM ledger_calls
              WHERE ${tenant === undefined ? sql`at >= ${from}` : sql`tenant = ${tenant} AND at >= ${from}`} AND at < ${to}
              GROUP BY ${sql.literal(GROUPS)}`

      const fromHours = (from: number, to: number, tenant: string | undefined) =>
        from >= to
          ? Effect.succeed([])
          : sql`SELECT ${sql.literal(OF_HOURS)} FROM ledger_hours
              WHERE tenant = ${tenant ?? ALL_TENANTS} AND hour >= ${from} AND hour < ${to}
              GROUP BY ${sql.literal(GROUPS)}`

      const report = Effect.fn("RoutingStats.report")(function* (query: StatsQuery) {
        const { tenant } = query
        const from = DateTime.toEpochMillis(query.from)
        const to = DateTime.toEpochMillis(query.to)
        const firstHour = Math.ceil(from / HOUR_MS)
        const lastHour = Math.floor(to / HOUR_MS)
        const parts =
          firstHour > lastHour
            ? [fromCalls(from, to, tenant)]
            : [
                fromCalls(from, firstHour * HOUR_MS, tenant),
                fromHours(firstHour, lastHour, tenant),
                fromCalls(lastHour * HOUR_MS, to, tenant),
              ]
        return yield* toReport(query, (yield* Effect.all(parts)).flat())
      }, unavailable)

      const reportFromCalls = Effect.fn("RoutingStats.reportFromCalls")(function* (query: StatsQuery) {
        const { from, tenant, to } = query
        return yield* toReport(
          query,
          yield* fromCalls(DateTime.toEpochMillis(from), DateTime.toEpochMillis(to), tenant),
        )
      }, unavailable)

      return RoutingStats.of({ report, reportFromCalls })
    }),
  )
}

const toReport = ({ from, to }: StatsQuery, rows: ReadonlyArray<unknown>) =>
  Effect.map(decodeGroups(rows), (groups): RoutingStatsReport => ({
    from,
    to,
    ...savings(groups.reduce(addSums, NO_SUMS)),
    by_provider_model: sumBy(groups, ({ model, provider }) => ({ provider, model })),
    by_mode: sumBy(groups, ({ mode }) => ({ mode: mode === "" ? null : mode })),
    by_strategy: sumBy(groups, ({ strategy }) => ({ strategy })),
    price_table: PRICE_TABLE,
    method: METHOD,
  }))

/** One entry per different `key`, the dearest first. */
const sumBy = <Key extends object>(groups: ReadonlyArray<Group>, keyOf: (group: Group) => Key) => {
  const entries = new Map<string, { readonly key: Key; readonly sums: Sums }>()
  for (const group of groups) {
    const key = keyOf(group)
    const text = JSON.stringify(key)
    entries.set(text, { key, sums: addSums(entries.get(text)?.sums ?? NO_SUMS, group) })
  }
  return [...entries]
    .sort(([a, { sums: x }], [b, { sums: y }]) => y.cost - x.cost || y.calls - x.calls || (a < b ? -1 : 1))
    .map(([, { key, sums }]) => ({ ...key, ...savings(sums) }))
}

const savings = (sums: Sums): Savings => ({
  requests: sums.requests,
  calls: sums.calls,
  failed_calls: sums.failed,
  input_tokens: sums.input_tokens,
  output_tokens: sums.output_tokens,
  cached_tokens: sums.cached_tokens,
  actual_micro_usd: sums.cost,
  compared_micro_usd: sums.compared,
  baseline_micro_usd: sums.baseline,
  saved_micro_usd: sums.baseline - sums.compared,
  saved_percent: percentOf(sums.baseline - sums.compared, sums.baseline),
  unpriced_calls: sums.unpriced,
})
