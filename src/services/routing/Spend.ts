/**
 * A tenant's spend by key, agent, model or label. It is read from sums of hours and days, never from calls: a report's time
 * grows with days and distinct values, not with calls, and old reports stay right when calls are removed.
 */
import { Context, DateTime, Effect, Layer, Record, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SpendBy, SpendOf, SpendReport } from "../../domain/routing/spend.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import { decodeRows, unavailable } from "../storedRows.ts"
import { cappedSums, HOUR_MS } from "./HourlySums.ts"
import { NO_SPEND, SPEND_SUMS } from "./spendSums.ts"

/** `from` and `to` are rounded down and up to UTC hours; `limit` bounds the items. */
export interface SpendQuery {
  readonly tenant: string
  readonly by: SpendBy
  readonly from: DateTime.Utc
  readonly to: DateTime.Utc
  readonly limit: number
}

/** `null` is the value of the total. */
const Row = Schema.Struct({ value: Schema.NullOr(Schema.String), ...Record.map(NO_SPEND, () => Schema.Int) })
const decodeSums = decodeRows("ledger_spend", Row)

/** The part of a key's or agent's document that reports show. */
const Named = Schema.Struct({
  id: Schema.String,
  document: Schema.fromJsonString(Schema.Struct({ name: Schema.String })),
})

const NAMED_IN = { key: "gateway_keys", agent: "agents" } as const
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

      /** Items and total in one statement, so that both are of the same moment. */
      const read = ({ by, from, limit, tenant, to }: SpendQuery) => {
        const periods = periodsOf(DateTime.toEpochMillis(from) / HOUR_MS, DateTime.toEpochMillis(to) / HOUR_MS)
        // A union, because SQLite would scan every period of an `OR`.
        const of = (kind: string) =>
          sql`FROM (${periods
            .map(
              (part) => sql`SELECT * FROM ledger_spend WHERE tenant = ${tenant} AND kind = ${kind}
                AND unit = ${part.unit} AND period >= ${part.from} AND period < ${part.to}`,
            )
            .reduce((all, part) => sql`${all} UNION ALL ${part}`)}) AS periods`
        return sql`SELECT * FROM (SELECT value, ${sums} ${of(by)} GROUP BY value
            ORDER BY cost DESC, calls DESC, value LIMIT ${limit}) AS items
          UNION ALL SELECT NULL AS value, ${sums} ${of("model")}`
      }

      const namesOf = Effect.fnUntraced(function* ({ by, tenant }: SpendQuery, ids: ReadonlyArray<string>) {
        if (!hasNames(by) || ids.length === 0) return new Map<string, string>()
        const rows =
          yield* sql`SELECT id, document FROM ${sql(NAMED_IN[by])} WHERE tenant = ${tenant} AND id IN ${sql.in(ids)}`
        const named = yield* decodeRows(NAMED_IN[by], Named)(rows)
        return new Map(named.map(({ document, id }) => [id, document.name]))
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

const DAY = 24

/** Whole days, and the hours before and after them. `from` and `to` count hours since the epoch. */
const periodsOf = (from: number, to: number) => {
  const [first, last] = [Math.ceil(from / DAY), Math.floor(to / DAY)]
  if (first >= last) return [{ unit: 1, from, to }]
  return [
    { unit: DAY, from: first, to: last },
    { unit: 1, from, to: first * DAY },
    { unit: 1, from: last * DAY, to },
  ]
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
