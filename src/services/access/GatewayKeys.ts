/** Keys of the gateway's tenants. A call sees only the keys of its tenant. */
import { Clock, Context, DateTime, Duration, Effect, Layer, Option, Redacted, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { type Identity, TokenRefused } from "../../domain/access/identity.ts"
import {
  type CreateKey,
  type GatewayKey,
  KeyId,
  KeyNotFound,
  type NewKey,
  StoredKey,
  type UpdateKey,
} from "../../domain/access/keys.ts"
import { TenantId } from "../../domain/jobs/agent.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import type { CursorInvalid, Page, PageRequest, StorageUnavailable } from "../../domain/operations/storage.ts"
import { merged } from "../../domain/json/merged.ts"
import { regularly, survive } from "../background.ts"
import { makeReadPage } from "../readPage.ts"
import { makeRecent } from "../recent.ts"
import { decodeRows, encodeRow, givenRows, unavailable } from "../storedRows.ts"
import { hasChecksum, hashOfKey, makeKeySecret } from "./keySecret.ts"

/** How often last uses are written. */
const WRITE_USES_EVERY = Duration.seconds(10)

const Row = Schema.Struct({
  hash: Schema.String,
  tenant: TenantId,
  document: Schema.fromJsonString(StoredKey),
  used_at: Schema.NullOr(Schema.Int),
})
const decode = decodeRows("gateway_keys", Row)
const encode = encodeRow("gateway_keys", Schema.Struct({ document: Schema.fromJsonString(StoredKey) }))
const isKeyId = Schema.is(KeyId)

export class GatewayKeys extends Context.Service<
  GatewayKeys,
  {
    /** Makes a key; the result is the only place that has its secret. `by` names the caller. */
    readonly create: (tenant: TenantId, by: string, input: CreateKey) => Effect.Effect<NewKey, StorageUnavailable>
    readonly get: (tenant: TenantId, id: string) => Effect.Effect<GatewayKey, KeyNotFound | StorageUnavailable>
    /** Newest first. */
    readonly list: (
      tenant: TenantId,
      page?: PageRequest,
    ) => Effect.Effect<Page<GatewayKey>, CursorInvalid | StorageUnavailable>
    /** Applies a change if `check` accepts the key before and after it. */
    readonly update: <E>(
      tenant: TenantId,
      id: string,
      change: UpdateKey,
      check: (before: StoredKey, after: StoredKey) => Effect.Effect<void, E>,
    ) => Effect.Effect<GatewayKey, E | KeyNotFound | StorageUnavailable>
    /** Revokes the key: here at once, in other processes within a second. */
    readonly revoke: (tenant: TenantId, id: string) => Effect.Effect<void, KeyNotFound | StorageUnavailable>
    /** The caller that holds the key, as stored up to a second ago. */
    readonly identify: (key: Redacted.Redacted) => Effect.Effect<Identity, TokenRefused | StorageUnavailable>
    /** Like `identify`, by the key's id. */
    readonly holder: (
      tenant: TenantId,
      id: string,
    ) => Effect.Effect<Identity, KeyNotFound | TokenRefused | StorageUnavailable>
  }
>()("sealgate/services/access/GatewayKeys") {
  static readonly layer = Layer.effect(
    GatewayKeys,
    Effect.suspend(() => make),
  ).pipe(Layer.provide(SecureRandom.layerWebCrypto))
}

const makeHeldBy = (sql: SqlClient.SqlClient, by: "hash" | "id") => {
  const given = givenRows(sql, { asked: "TEXT" })
  const column = sql.literal(by)
  return makeRecent(
    Effect.fnUntraced(function* (asked) {
      const rows = yield* decode(
        yield* sql`SELECT hash, tenant, document, used_at
          FROM ${given(asked.map((asked) => ({ asked })))} JOIN gateway_keys ON ${column} = given.asked`,
      )
      const named = ({ document, hash }: typeof Row.Type) => (by === "hash" ? hash : document.id)
      return asked.map((name) => Option.fromUndefinedOr(rows.find((row) => named(row) === name)))
    }),
  )
}

/** Returns reads of rows by the hash and the id of their key, each up to a second old. */
const makeHeld = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const [hashes, ids] = [yield* makeHeldBy(sql, "hash"), yield* makeHeldBy(sql, "id")]
  return {
    byHash: (hash: string) => Effect.map(hashes.recent(hash), Option.getOrUndefined),
    byId: Effect.fnUntraced(function* (tenant: TenantId, id: string) {
      // A database may refuse to compare with a malformed id.
      const row = isKeyId(id) ? Option.getOrUndefined(yield* ids.recent(id)) : undefined
      return row?.tenant === tenant ? row : yield* new KeyNotFound()
    }),
    forget: (hash: string, id: string) => Effect.andThen(hashes.forget(hash), ids.forget(id)),
  }
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const random = yield* SecureRandom.SecureRandom
  const holderOf = makeHolderOf(yield* makeNoteUse(sql))

  const { byHash, byId, forget } = yield* makeHeld(sql)
  const listed = { table: "gateway_keys", columns: "hash, tenant, document, used_at", bytes: "octet_length(document)" }
  const readPage = makeReadPage(sql, listed)
  const forUpdate = sql.onDialectOrElse({ pg: () => sql`FOR UPDATE`, orElse: () => sql`` })
  const read = Effect.fnUntraced(function* (tenant: TenantId, id: string, lock = sql``) {
    // A database may refuse to compare with a malformed id.
    if (!isKeyId(id)) return yield* new KeyNotFound()
    const [row] = yield* decode(
      yield* sql`SELECT hash, tenant, document, used_at FROM gateway_keys WHERE tenant = ${tenant} AND id = ${id} ${lock}`,
    )
    return row ?? (yield* new KeyNotFound())
  })

  return GatewayKeys.of({
    create: Effect.fnUntraced(function* (tenant, by, input) {
      const { hash, key } = makeKeySecret()
      const stored: StoredKey = {
        ...input,
        id: KeyId.make(yield* random.uuidV7()),
        created_at: yield* DateTime.now,
        created_by: by,
      }
      const { document } = yield* encode({ document: stored })
      const max_running_jobs = stored.max_running_jobs ?? null
      const row = { id: stored.id, tenant, hash, document, used_at: null, max_running_jobs }
      yield* sql`INSERT INTO gateway_keys ${sql.insert(row)}`
      return { ...stored, key: Redacted.value(key) }
    }, unavailable),

    get: (tenant, id) => unavailable(Effect.map(read(tenant, id), shown)),

    list: Effect.fnUntraced(function* (tenant, page) {
      const { items, ...next } = yield* readPage(sql`tenant = ${tenant}`, page, decode)
      return { ...next, items: items.map(shown) }
    }, unavailable),

    update: (tenant, id, change, check) =>
      Effect.gen(function* () {
        const row = yield* read(tenant, id, forUpdate)
        const after = merged(row.document, change)
        yield* check(row.document, after)
        const { document } = yield* encode({ document: after })
        yield* sql`UPDATE gateway_keys SET document = ${document}, max_running_jobs = ${after.max_running_jobs ?? null}
          WHERE tenant = ${tenant} AND id = ${id}`
        return { ...row, document: after }
      }).pipe(
        sql.withTransaction,
        Effect.tap(({ hash }) => forget(hash, id)),
        Effect.map(shown),
        unavailable,
      ),

    revoke: Effect.fnUntraced(function* (tenant, id) {
      if (!isKeyId(id)) return yield* new KeyNotFound()
      const [gone] = yield* sql<{ hash: string }>`DELETE FROM gateway_keys
        WHERE tenant = ${tenant} AND id = ${id} RETURNING hash`
      if (gone === undefined) return yield* new KeyNotFound()
      yield* forget(gone.hash, id)
    }, unavailable),

    identify: Effect.fnUntraced(function* (given) {
      const key = Redacted.value(given)
      if (!hasChecksum(key)) return yield* new TokenRefused()
      const row = yield* byHash(hashOfKey(key))
      return yield* row === undefined ? new TokenRefused() : holderOf(row)
    }),

    holder: (tenant, id) => Effect.flatMap(byId(tenant, id), holderOf),
  })
})

/** Returns a function that returns the caller that holds the key of a row, and notes the use. It refuses an expired key. */
const makeHolderOf = (noteUse: (id: KeyId, now: number) => void) =>
  Effect.fnUntraced(function* ({ document, tenant }: typeof Row.Type): Effect.fn.Return<Identity, TokenRefused> {
    const { agents, budgets, expires_at, id, models, name, roles, weight } = document
    const now = yield* Clock.currentTimeMillis
    if (expires_at !== undefined && expires_at.epochMilliseconds <= now) return yield* new TokenRefused()
    noteUse(id, now)
    const limits = withoutUndefined({
      agents,
      budgets,
      models,
      perMinute: document.requests_per_minute,
      weight,
      maxRunningJobs: document.max_running_jobs,
      maxCallsInFlight: document.max_calls_in_flight,
    })
    return { subject: name, tenant, roles, key: { id, ...limits } }
  })

const shown = ({ document, used_at }: typeof Row.Type): GatewayKey => ({
  ...document,
  ...(used_at === null ? {} : { last_used_at: DateTime.makeUnsafe(used_at) }),
})

/** Returns a function that notes a use at `now` (milliseconds since the epoch). Uses are written together, also at the end. */
const makeNoteUse = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const uses = givenRows(sql, { key_id: "TEXT", at: "BIGINT" })
  // All processes lock the keys in one order, or they could deadlock.
  const locked = (rows: Parameters<typeof uses>[0]) =>
    sql.onDialectOrElse({
      pg: () => sql`gateway_keys.id IN
        (SELECT id FROM gateway_keys WHERE id IN (SELECT key_id FROM ${uses(rows)}) ORDER BY id FOR NO KEY UPDATE)`,
      orElse: () => sql`TRUE`,
    })
  const pending = new Map<KeyId, number>()
  const write = Effect.suspend(() => {
    const rows = [...pending].map(([key_id, at]) => ({ key_id, at }))
    pending.clear()
    return rows.length === 0
      ? Effect.void
      : Effect.asVoid(
          sql`UPDATE gateway_keys SET used_at = given.at FROM ${uses(rows)} WHERE gateway_keys.id = given.key_id
            AND COALESCE(used_at, -1) < given.at AND ${locked(rows)}`,
        )
    // A failure is logged only: a last use is mere information.
  }).pipe(unavailable)
  yield* Effect.addFinalizer(() => survive(write))
  yield* Effect.forkScoped(regularly(write, WRITE_USES_EVERY))
  return (id: KeyId, now: number): void => {
    pending.set(id, now)
  }
})
