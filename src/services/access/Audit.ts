/** The audit trail: who changed which key, agent, job or routing configuration. Entries are only added. */
import { Context, DateTime, Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient, type SqlError } from "effect/sql"
import { type AuditAction, AuditEntry } from "../../domain/access/audit.ts"
import type { Identity } from "../../domain/access/identity.ts"
import type { CursorInvalid, Page, PageRequest, StorageUnavailable } from "../../domain/operations/storage.ts"
import { makeReadPage } from "../readPage.ts"
import { decodeRows, unavailable } from "../storedRows.ts"

const decode = decodeRows("audit_entries", Schema.Struct({ ...AuditEntry.fields, at: Schema.DateTimeUtcFromMillis }))

export class Audit extends Context.Service<
  Audit,
  {
    /**
     * Makes a change and adds its entry: both or, if either fails or is interrupted, neither. `target` names what changed;
     * `undefined` if nothing did, which adds no entry.
     */
    readonly noted: <A, E, R>(
      by: Identity,
      action: AuditAction,
      change: Effect.Effect<A, E, R>,
      target: (changed: A) => string | undefined,
    ) => Effect.Effect<A, Exclude<E, SqlError.SqlError> | StorageUnavailable, R>
    /** Entries of all tenants, newest first. */
    readonly list: (page?: PageRequest) => Effect.Effect<Page<AuditEntry>, CursorInvalid | StorageUnavailable>
  }
>()("sealgate/services/access/Audit") {
  static readonly layer = Layer.effect(
    Audit,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom
      const columns = "id, at, tenant, subject, key_id, action, target"
      const readPage = makeReadPage(sql, { table: "audit_entries", columns, bytes: "0" })
      const add = Effect.fnUntraced(function* (
        { key, subject, tenant }: Identity,
        action: AuditAction,
        target: string,
      ) {
        const id = yield* random.uuidV7()
        const at = (yield* DateTime.now).epochMilliseconds
        yield* sql`INSERT INTO audit_entries
          ${sql.insert({ id, at, tenant, subject, key_id: key?.id ?? null, action, target })}`
      })
      return Audit.of({
        noted: (by, action, change, target) =>
          unavailable(
            sql.withTransaction(
              Effect.tap(change, (changed) => {
                const named = target(changed)
                return named === undefined ? Effect.void : add(by, action, named)
              }),
            ),
          ),

        list: (page) => unavailable(readPage(sql`TRUE`, page, decode)),
      })
    }),
  ).pipe(Layer.provide(SecureRandom.layerWebCrypto))
}
