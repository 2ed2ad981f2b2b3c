/** A tenant's spend by key, agent, model or label, from sums of periods, which outlive the calls. */
import { Context, DateTime, Effect, Layer, Record, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SpendBy, SpendOf, SpendReport } from "../../domain/routing/spend.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import { decodeRows, givenRows, unavailable } from "../storedRows.ts"
import { cappedSums, HOUR_MS } from "./HourlySums.ts"
import { UNITS } from "./SpendPeriods.ts"
import { NO_SPEND, SPEND_SUMS } from "./spendSums.ts"

/** `from` and `to` are rounded down and up to UTC hours; `limit` bounds the items. */
interface SpendQuery {
  readonly tenant: string
  readonly by: SpendBy
  readonly from: DateTime.Utc
  readonly to: DateTime.Utc
  readonly limit: number
}

/** `null` is the value of the total. */
const Row = Schema.Struct({ value: Schema.NullOr(Schema.String), ...Record.map(NO_SPEND, () => Schema.Int) })
const decodeSums = decodeRows("ledger_spend", Row)

/** An agent's name, or a key's document. An agent's document would be large. */
const Named = Schema.Struct({
  id: Schema.String,
  named: Schema.fromJsonString(Schema.Union([Schema.String, Schema.Struct({ name: Schema.String })])),
})

const NAMED_IN = { key: ["gateway_keys", "document"], agent: ["agents", "name"] } as const
const hasNames = (by: SpendBy): by is keyof typeof NAMED_IN => Object.hasOwn(NAMED_IN, by)

export class Spend extends Context.Service<
  Spend,
  { readonly report: (query: SpendQuery) => Effect.Effect<SpendReport, StorageUnavailable> }
>()("sealgate/services/routing/Spend") {
  static readonly layer = Layer.effect(
    Spend,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { total } = cappedSums(sql)
      const sums = sql.literal(SPEND_SUMS.map((name) => `${total(name)} AS ${name}`).join(", "))
      const columns = sql.literal(["value", ...SPEND_SUMS].join(", "))
      const given = givenRows(sql, { kind: "TEXT", unit: "BIGINT", first: "BIGINT", last: "BIGINT" })

      /** Items and total in one statement, so that both are of the same moment. */
      const read = ({ by, from, limit, tenant, to }: SpendQuery) => {
        const hours = [DateTime.toEpochMillis(from) / HOUR_MS, DateTime.toEpochMillis(to) / HOUR_MS] as const
        const periods = periodsOf(...hours)
        // The cross join makes SQLite look up each period by the primary key, where it would scan the tenant's rows.
        const of = (kind: string) =>
          sql`FROM (SELECT ${columns} FROM ${given(periods.map((part) => ({ kind, ...part })))} CROSS JOIN ledger_spend
              WHERE tenant = ${tenant} AND ledger_spend.kind = given.kind AND ledger_spend.unit = given.unit
                AND period >= given.first AND period < given.last
            UNION ALL SELECT ${columns} FROM ledger_spend_new
              WHERE tenant = ${tenant} AND kind = ${kind} AND hour >= ${hours[0]} AND hour < ${hours[1]}) AS parts`
        return sql`SELECT * FROM (SELECT value, ${sums} ${of(by)} GROUP BY value
            ORDER BY cost DESC, calls DESC, value LIMIT ${limit}) AS items
          UNION ALL SELECT NULL AS value, ${sums} ${of("model")}`
      }

      const namesOf = Effect.fnUntraced(function* ({ by, tenant }: SpendQuery, ids: ReadonlyArray<string>) {
        if (!hasNames(by) || ids.length === 0) return new Map<string, string>()
        const [table, column] = NAMED_IN[by]
        const rows =
          yield* sql`SELECT id, ${sql(column)} AS named FROM ${sql(table)} WHERE tenant = ${tenant} AND id IN ${sql.in(ids)}`
        const known = yield* decodeRows(table, Named)(rows)
        return new Map(known.map(({ id, named }) => [id, typeof named === "string" ? named : named.name]))
      })

      const report = Effect.fn("Spend.report")(function* (asked: SpendQuery) {
        const query = { ...asked, from: wholeHour(asked.from, Math.floor), to: wholeHour(asked.to, Math.ceil) }
        const rows = yield* decodeSums(yield* read(query))
        const known = rows.flatMap((row) => (row.value === null ? [] : [{ value: row.value, ...spendOf(row) }]))
        const names = yield* namesOf(
          query,
          known.map(({ value }) => value),
        )
        const total = spendOf(rows.find(({ value }) => value === null) ?? NO_SPEND)
        return {
          from: query.from,
          to: query.to,
          by: query.by,
          total,
          items: known.map(({ value, ...sums }) => {
            const name = names.get(value)
            return { value, ...(name === undefined ? {} : { name }), ...sums }
          }),
          rest: known.reduce((rest, item) => Record.map(rest, (sum, name) => Math.max(0, sum - item[name])), total),
        }
      }, unavailable)

      return Spend.of({ report })
    }),
  )
}

const wholeHour = (time: DateTime.Utc, round: (hours: number) => number): DateTime.Utc =>
  DateTime.makeUnsafe(round(DateTime.toEpochMillis(time) / HOUR_MS) * HOUR_MS)

interface Periods {
  readonly unit: number
  readonly first: number
  /** Exclusive. */
  readonly last: number
}

/** Covers the hours from `from` to `to` with the longest periods that fit. Both count hours since the epoch. */
const periodsOf = (from: number, to: number, units: ReadonlyArray<number> = UNITS): ReadonlyArray<Periods> => {
  const [unit, ...shorter] = units
  if (unit === undefined || from >= to) return []
  const [first, last] = [Math.ceil(from / unit), Math.floor(to / unit)]
  if (first >= last) return periodsOf(from, to, shorter)
  return [{ unit, first, last }, ...periodsOf(from, first * unit, shorter), ...periodsOf(last * unit, to, shorter)]
}

const spendOf = (sums: typeof NO_SPEND): SpendOf => ({
  calls: sums.calls,
  failed_calls: sums.failed,
  unpriced_calls: sums.unpriced,
  input_tokens: sums.input_tokens,
  output_tokens: sums.output_tokens,
  cached_tokens: sums.cached_tokens,
  cost_micro_usd: sums.cost,
})
