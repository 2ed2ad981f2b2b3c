/** The audit trail: who changed which key, agent, job or routing configuration. Entries are only added. */
import { Context, DateTime, Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { type AuditAction, AuditEntry } from "../../domain/access/audit.ts"
import type { Identity } from "../../domain/access/identity.ts"
import {
  type CursorInvalid,
  type Page,
  type PageRequest,
  pageBounds,
  pageOf,
  type PageRow,
  type StorageUnavailable,
} from "../../domain/operations/storage.ts"
import { decodeRows, unavailable } from "../storedRows.ts"

const decode = decodeRows("audit_entries", Schema.Struct({ ...AuditEntry.fields, at: Schema.DateTimeUtcFromMillis }))

export class Audit extends Context.Service<
  Audit,
  {
    /** Adds an entry, once the change is made. */
    readonly note: (by: Identity, action: AuditAction, target: string) => Effect.Effect<void, StorageUnavailable>
    /** Entries of all tenants, newest first. */
    readonly list: (page?: PageRequest) => Effect.Effect<Page<AuditEntry>, CursorInvalid | StorageUnavailable>
  }
>()("sealgate/services/access/Audit") {
  static readonly layer = Layer.effect(
    Audit,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom
      return Audit.of({
        note: Effect.fnUntraced(function* ({ key, subject, tenant }, action, target) {
          const id = yield* random.uuidV7()
          const at = (yield* DateTime.now).epochMilliseconds
          yield* sql`INSERT INTO audit_entries
            ${sql.insert({ id, at, tenant, subject, key_id: key?.id ?? null, action, target })}`
        }, unavailable),

        list: Effect.fnUntraced(function* (page) {
          const { before, limit } = yield* pageBounds(page)
          const found = yield* sql<PageRow>`SELECT id, 0 AS bytes FROM audit_entries
            WHERE id < ${before} ORDER BY id DESC LIMIT ${limit + 1}`
          const { items, ...next } = pageOf(found, limit)
          if (items.length === 0) return { items: [] }
          const rows = yield* sql`SELECT id, at, tenant, subject, key_id, action, target FROM audit_entries
            WHERE id IN ${sql.in(items)} ORDER BY id DESC`
          return { ...next, items: yield* decode(rows) }
        }, unavailable),
      })
    }),
  ).pipe(Layer.provide(SecureRandom.layerWebCrypto))
}
