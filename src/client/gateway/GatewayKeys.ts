import { Effect, Schema } from "effect"
import { AuditEntry as AuditEntrySchema } from "../../domain/access/audit.ts"
import {
  CreateKey,
  GatewayKey as GatewayKeySchema,
  NewKey as NewKeySchema,
  UpdateKey,
} from "../../domain/access/keys.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import { ApiPart, type CallOptions, type Page, type PageOptions, readPage, run } from "./gatewayCalls.ts"

export type GatewayKey = typeof GatewayKeySchema.Encoded
export type NewKey = typeof NewKeySchema.Encoded
export type AuditEntry = typeof AuditEntrySchema.Encoded
export type KeySettings = typeof CreateKey.Encoded
export type KeyChange = typeof UpdateKey.Encoded

const STRICT = { errors: "all", onExcessProperty: "error" } as const
const decodeSettings = Schema.decodeEffect(CreateKey, STRICT)
const decodeChange = Schema.decodeEffect(UpdateKey, STRICT)
const encodeKey = Schema.encodeSync(GatewayKeySchema)
const encodeNewKey = Schema.encodeSync(NewKeySchema)
const encodeEntry = Schema.encodeSync(AuditEntrySchema)

/** Keys of the caller's tenant; for callers with the role `manage` by name. */
export class KeysClient extends ApiPart {
  /** Creates a key. The result has its secret in `key`; the gateway never shows it again. */
  async create(settings: KeySettings, options?: CallOptions): Promise<NewKey> {
    const made = Effect.flatMap(decodeSettings(settings), (payload) => this.connection.api.keys.create({ payload }))
    return encodeNewKey((await run(made, options)).body)
  }

  async get(id: string, options?: CallOptions): Promise<GatewayKey> {
    return encodeKey(await run(this.connection.repeatable.keys.get({ params: { id } }), options))
  }

  /** Newest first. */
  async list({ signal, ...query }: PageOptions = {}): Promise<Page<GatewayKey>> {
    return readPage(this.connection.repeatable.keys.list({ query: withoutUndefined(query) }), signal, encodeKey)
  }

  /** Replaces the given members; `null` removes an optional one. In force within a second. */
  async update(id: string, change: KeyChange, options?: CallOptions): Promise<GatewayKey> {
    const changed = Effect.flatMap(decodeChange(change), (payload) =>
      this.connection.api.keys.update({ params: { id }, payload }),
    )
    return encodeKey(await run(changed, options))
  }

  /** Revokes the key: every gateway refuses it within a second. */
  async revoke(id: string, options?: CallOptions): Promise<void> {
    await run(this.connection.api.keys.revoke({ params: { id } }), options)
  }
}

/** The audit trail of all tenants; for administrators. */
export class AuditClient extends ApiPart {
  /** Newest first. */
  async list({ signal, ...query }: PageOptions = {}): Promise<Page<AuditEntry>> {
    return readPage(this.connection.repeatable.audit.list({ query: withoutUndefined(query) }), signal, encodeEntry)
  }
}
