/** Pages of the ledger, newest first, for billing. */
import { Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { decodeBase64Url, encodeBase64Url, utf8 } from "../../domain/bytes/bytes.ts"
import { Mode } from "../../domain/jobs/modes.ts"
import { CursorInvalid, type Page, type StorageUnavailable } from "../../domain/operations/storage.ts"
import { Labels } from "../../domain/routing/labels.ts"
import { LedgerEntry } from "../../domain/routing/ledger.ts"
import { ModelRole } from "../../domain/routing/routing.ts"
import { decodeRows, unavailable } from "../storedRows.ts"

/** Restricts the entries. `from` is inclusive, `to` exclusive; without a `tenant`, those of all tenants. */
interface LedgerFilter {
  readonly tenant?: string | undefined
  readonly key_id?: string | undefined
  readonly agent_id?: string | undefined
  /** The name of a target's model and its provider. */
  readonly model?: string | undefined
  readonly provider?: string | undefined
  readonly from?: DateTime.Utc | undefined
  readonly to?: DateTime.Utc | undefined
}

/** Maximum number of entries that one page reads. A page of a rare model may be shorter than its limit although more follow. */
const LOOKED_AT = 2000

/** Bounds of every time, in milliseconds since the epoch. */
const FIRST = Number.MIN_SAFE_INTEGER
const LAST = Number.MAX_SAFE_INTEGER

/** Ids are UUIDs with a suffix. Postgres could not compare a cursor with U+0000. */
const Id = Schema.String.check(Schema.isPattern(/^[\w-]+$/))
const Place = Schema.Struct({ at: Schema.Int, id: Id })
/** A position in the list. Entries of the same moment are sorted by id. */
type Place = typeof Place.Type
const decodePlaces = decodeRows("ledger_calls", Place)
const placeIn = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Tuple([Schema.Int, Id])))

const cursorOf = ({ at, id }: Place): string => encodeBase64Url(utf8(JSON.stringify([at, id])))

const readCursor = (cursor: string): Effect.Effect<Place, CursorInvalid> => {
  const text = new TextDecoder().decode(decodeBase64Url(cursor) ?? new Uint8Array())
  return Option.match(placeIn(text), {
    onNone: () => Effect.fail(new CursorInvalid()),
    onSome: ([at, id]) => Effect.succeed({ at, id }),
  })
}

const decode = decodeRows(
  "ledger_calls",
  Schema.Struct({
    ...LedgerEntry.fields,
    at: Schema.DateTimeUtcFromMillis,
    mode: Schema.Union([Mode, Schema.Literal("")]),
    role: Schema.Union([ModelRole, Schema.Literal("")]),
    labels: Schema.NullOr(Schema.fromJsonString(Labels)),
    estimated: Schema.Int,
    own_key: Schema.Int,
  }),
)

const COLUMNS = [
  ..."id at request_id tenant key_id agent_id job_id mode role strategy provider model served_model".split(" "),
  ..."input_tokens output_tokens cached_tokens price_version latency_ms outcome labels estimated own_key".split(" "),
  "cost AS cost_micro_usd",
  "baseline AS baseline_micro_usd",
].join(", ")

export class LedgerExport extends Context.Service<
  LedgerExport,
  {
    /** A page may have fewer entries than `limit` although more follow; the last page has no `next_cursor`. */
    readonly list: (
      filter: LedgerFilter,
      page: { readonly limit: number; readonly cursor?: string | undefined },
    ) => Effect.Effect<Page<LedgerEntry>, CursorInvalid | StorageUnavailable>
  }
>()("sealgate/services/routing/LedgerExport") {
  static readonly layer = Layer.effect(
    LedgerExport,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(COLUMNS)
      const newestFirst = sql`ORDER BY at DESC, id DESC`

      const list = Effect.fn("LedgerExport.list")(function* (
        { agent_id, from, key_id, model, provider, tenant, to }: LedgerFilter,
        { cursor, limit }: { readonly limit: number; readonly cursor?: string | undefined },
      ) {
        const after = cursor === undefined ? undefined : yield* readCursor(cursor)
        const isIndexed = tenant !== undefined
        const callers = [
          ...(key_id === undefined ? [] : [sql`key_id = ${key_id}`]),
          ...(agent_id === undefined ? [] : [sql`agent_id = ${agent_id}`]),
        ]
        // An index finds the entries of one key or one agent. With both, the agent's are filtered from the key's.
        const indexed = isIndexed ? callers.slice(0, 1) : []
        const latest = Math.min(to === undefined ? Infinity : DateTime.toEpochMillis(to) - 1, after?.at ?? LAST)
        /**
         * The rows that an index finds in their order, from `floor` on. The bounds of `at` repeat those of `(at, id)`, because
         * Postgres's planner does not see how few rows the latter leave. There is one bound at each end, because SQLite uses one.
         */
        const listed = (floor?: Place) =>
          sql.and([
            ...(tenant === undefined ? [] : [sql`tenant = ${tenant}`]),
            ...indexed,
            sql`at >= ${floor?.at ?? (from === undefined ? FIRST : DateTime.toEpochMillis(from))}`,
            sql`at <= ${latest}`,
            ...(after === undefined ? [] : [sql`(at, id) < (${after.at}, ${after.id})`]),
            ...(floor === undefined ? [] : [sql`(at, id) >= (${floor.at}, ${floor.id})`]),
          ])
        const chosen = [
          ...callers.slice(indexed.length),
          ...(model === undefined ? [] : [sql`model = ${model}`]),
          ...(provider === undefined ? [] : [sql`provider = ${provider}`]),
        ]
        // The last entry to read, if more follow.
        const [floor] =
          chosen.length === 0
            ? []
            : yield* decodePlaces(
                yield* sql`SELECT at, id FROM ledger_calls WHERE ${listed()} ${newestFirst} LIMIT 1 OFFSET ${LOOKED_AT - 1}`,
              )
        const wanted = sql.and([listed(floor), ...chosen])
        const rows = yield* decode(
          yield* sql`SELECT ${columns} FROM ledger_calls WHERE ${wanted} ${newestFirst} LIMIT ${limit + 1}`,
        )
        const items = rows.slice(0, limit).map((row) => ({
          ...row,
          mode: row.mode === "" ? null : row.mode,
          role: row.role === "" ? null : row.role,
          estimated: row.estimated === 1,
          own_key: row.own_key === 1,
          labels: row.labels ?? {},
        }))
        const last = items.at(-1)
        const end =
          rows.length > limit && last !== undefined ? { at: DateTime.toEpochMillis(last.at), id: last.id } : floor
        return { items, ...(end === undefined ? {} : { next_cursor: cursorOf(end) }) }
      }, unavailable)

      return LedgerExport.of({ list })
    }),
  )
}
