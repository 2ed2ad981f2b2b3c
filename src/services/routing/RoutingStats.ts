/**
 * Savings by routing in a time span. Whole hours come from the hourly sums, partial hours at both ends from the ledger
 * rows, so every span is exact and reads at most two hours of rows. Where rows were removed, a span covers whole hours.
 */
import { Context, DateTime, Effect, Layer, Record, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { Mode } from "../../domain/jobs/modes.ts"
import { type Interval, intervalsOf } from "../../domain/routing/intervals.ts"
import { latencyAt } from "../../domain/routing/latency.ts"
import { percentOf } from "../../domain/routing/money.ts"
import { Strategy } from "../../domain/routing/routing.ts"
import { METHOD, type RoutingStatsReport, type Savings } from "../../domain/routing/savings.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import { decodeRows, unavailable } from "../storedRows.ts"
import {
  addSums,
  ALL_TENANTS,
  cappedSums,
  HOUR_MS,
  NO_SUMS,
  type Sums,
  SUM_COLUMNS,
  SUMS_OF_CALLS,
} from "./HourlySums.ts"
import { PRICE_TABLE } from "./PriceTable.ts"

/** `from` is inclusive, `to` exclusive; without a `tenant`, all tenants. */
export interface StatsQuery {
  readonly from: DateTime.Utc
  readonly to: DateTime.Utc
  readonly tenant?: string | undefined
  readonly interval?: Interval | undefined
}

const sums = Record.map(SUMS_OF_CALLS, () => Schema.Int)
/** Sums of one kind of calls. */
const Group = Schema.Struct({
  slot: Schema.Null,
  mode: Schema.Union([Mode, Schema.Literal("")]),
  strategy: Strategy,
  provider: Schema.String,
  model: Schema.String,
  ...sums,
})
type Group = typeof Group.Type
const OfInterval = Schema.Struct({ slot: Schema.Int, ...sums })
type OfInterval = typeof OfInterval.Type
const decodeSums = decodeRows("ledger", Schema.Union([Group, OfInterval]))

/** The calls among which {@link RoutingStats.lastFailures} looks. */
const LATEST = 500

const LastFailure = Schema.Struct({
  provider: Schema.String,
  model: Schema.String,
  at: Schema.DateTimeUtcFromMillis,
  outcome: Schema.String,
})
export type LastFailure = typeof LastFailure.Type
const decodeFailures = decodeRows("ledger_calls", LastFailure)

const GROUPS = "mode, strategy, provider, model"
const NO_GROUP = "'' AS mode, '' AS strategy, '' AS provider, '' AS model"

/** SQL expressions of a ledger table: each sum, and a row's interval since the epoch. */
const CALLS = {
  addend: (name: keyof Sums): string => SUMS_OF_CALLS[name],
  slot: { hour: `at / ${HOUR_MS}`, day: `at / ${24 * HOUR_MS}` },
}
const HOURS = { addend: (name: keyof Sums): string => name, slot: { hour: "hour", day: "hour / 24" } }

export class RoutingStats extends Context.Service<
  RoutingStats,
  {
    readonly report: (query: StatsQuery) => Effect.Effect<RoutingStatsReport, StorageUnavailable>
    /** The latest failures among the latest calls, newest first; without a tenant, of all tenants. */
    readonly lastFailures: (tenant?: string) => Effect.Effect<ReadonlyArray<LastFailure>, StorageUnavailable>
  }
>()("sealgate/services/routing/RoutingStats") {
  static readonly layer = Layer.effect(
    RoutingStats,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const { total } = cappedSums(sql)

      /** Sums by group and optionally by interval, in one statement, so that both use the same rows. */
      const sumUp = (table: typeof CALLS | typeof HOURS, rows: Statement.Fragment, interval: Interval | undefined) => {
        const sums = SUM_COLUMNS.map((name) => `${total(table.addend(name))} AS ${name}`).join(", ")
        const groups = sql`SELECT NULL AS slot, ${sql.literal(`${GROUPS}, ${sums}`)} ${rows}
          GROUP BY ${sql.literal(GROUPS)}`
        if (interval === undefined) return groups
        return sql`${groups} UNION ALL SELECT ${sql.literal(`${table.slot[interval]} AS slot, ${NO_GROUP}, ${sums}`)} ${rows}
          GROUP BY slot`
      }

      const fromCalls = (from: number, to: number, { interval, tenant }: StatsQuery) => {
        if (from >= to) return Effect.succeed([])
        const ofTenant = tenant === undefined ? sql`` : sql`tenant = ${tenant} AND `
        return sumUp(CALLS, sql`FROM ledger_calls WHERE ${ofTenant}at >= ${from} AND at < ${to}`, interval)
      }

      const fromHours = (from: number, to: number, { interval, tenant = ALL_TENANTS }: StatsQuery) => {
        if (from >= to) return Effect.succeed([])
        return sumUp(
          HOURS,
          sql`FROM ledger_hours WHERE tenant = ${tenant} AND hour >= ${from} AND hour < ${to}`,
          interval,
        )
      }

      /** The span, extended to whole hours where calls were removed: only their hourly sums exist. */
      const known = Effect.fnUntraced(function* (query: StatsQuery) {
        const [from, to] = [DateTime.toEpochMillis(query.from), DateTime.toEpochMillis(query.to)]
        if (from % HOUR_MS === 0 && to % HOUR_MS === 0) return query
        const [pruned] = yield* sql<{ before: number }>`SELECT before FROM ledger_pruned`
        const before = pruned?.before ?? from
        return {
          ...query,
          from: DateTime.makeUnsafe(from < before ? Math.floor(from / HOUR_MS) * HOUR_MS : from),
          to: DateTime.makeUnsafe(to < before ? Math.ceil(to / HOUR_MS) * HOUR_MS : to),
        }
      })

      const report = Effect.fn("RoutingStats.report")(function* (asked: StatsQuery) {
        const query = yield* known(asked)
        const from = DateTime.toEpochMillis(query.from)
        const to = DateTime.toEpochMillis(query.to)
        const firstHour = Math.ceil(from / HOUR_MS)
        const lastHour = Math.floor(to / HOUR_MS)
        const parts =
          firstHour > lastHour
            ? [fromCalls(from, to, query)]
            : [
                fromCalls(from, firstHour * HOUR_MS, query),
                fromHours(firstHour, lastHour, query),
                fromCalls(lastHour * HOUR_MS, to, query),
              ]
        return yield* toReport(query, (yield* Effect.all(parts)).flat())
      }, unavailable)

      const lastFailures = Effect.fn("RoutingStats.lastFailures")(function* (tenant?: string) {
        const ofTenant = tenant === undefined ? sql`` : sql`WHERE tenant = ${tenant}`
        return yield* decodeFailures(
          yield* sql`SELECT provider, model, at, outcome FROM (SELECT provider, model, at, outcome FROM ledger_calls
            ${ofTenant} ORDER BY at DESC LIMIT ${LATEST}) AS latest
            WHERE outcome NOT IN ('success', 'cached', 'interrupted') ORDER BY at DESC`,
        )
      }, unavailable)

      return RoutingStats.of({ report, lastFailures })
    }),
  )
}

const toReport = (query: StatsQuery, rows: ReadonlyArray<unknown>) =>
  Effect.map(decodeSums(rows), (all): RoutingStatsReport => {
    const { from, interval, to } = query
    const groups = all.filter((row) => row.slot === null)
    return {
      from,
      to,
      ...savings(groups.reduce(addSums, NO_SUMS)),
      by_provider_model: sumBy(groups, ({ model, provider }) => ({ provider, model })),
      by_mode: sumBy(groups, ({ mode }) => ({ mode: mode === "" ? null : mode })),
      by_strategy: sumBy(groups, ({ strategy }) => ({ strategy })),
      price_table: PRICE_TABLE,
      method: METHOD,
      ...(interval === undefined ? {} : { over_time: overTime(query, interval, all) }),
    }
  })

/** One entry per interval of the span, empty ones included. */
const overTime = ({ from, to }: StatsQuery, interval: Interval, rows: ReadonlyArray<Group | OfInterval>) => {
  const known = new Map<number, Sums>()
  for (const row of rows) {
    // A partial hour and the whole hours beside it can belong to the same day.
    if (row.slot !== null) known.set(row.slot, addSums(known.get(row.slot) ?? NO_SUMS, row))
  }
  return intervalsOf(DateTime.toEpochMillis(from), DateTime.toEpochMillis(to), interval).map((part) => ({
    from: DateTime.makeUnsafe(part.from),
    to: DateTime.makeUnsafe(part.to),
    ...savings(known.get(part.interval) ?? NO_SUMS),
  }))
}

/** One entry per distinct `key`, the dearest first. */
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
  latency_p50_ms: latencyAt(0.5, sums),
  latency_p95_ms: latencyAt(0.95, sums),
})
