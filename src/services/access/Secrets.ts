/** Secrets of tenants, encrypted with the operator's key. A call sees only the secrets of its tenant. */
import { Clock, Context, DateTime, Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import {
  MAX_SECRETS,
  ProviderKeyElsewhere,
  type PutSecret,
  type SecretInfo,
  SecretNotFound,
  SecretsOff,
  TooManySecrets,
} from "../../domain/access/secrets.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import type { TenantKeys } from "../../domain/upstream/upstream.ts"
import { makeRecent } from "../recent.ts"
import { decodeRows, givenRows, isDuplicate, unavailable } from "../storedRows.ts"
import { OperatorBox, type SecretBox } from "./secretBox.ts"

const destination = { origin: Schema.NullOr(Schema.String), provider: Schema.NullOr(Schema.String) }
const Row = Schema.Struct({
  name: Schema.String,
  ...destination,
  updated_at: Schema.DateTimeUtcFromMillis,
})
const decode = decodeRows("secrets", Row)
const decodeSealed = decodeRows("secrets", Schema.Struct({ ...destination, sealed: Schema.String }))
const KeyRow = Schema.Struct({
  tenant: Schema.String,
  name: Schema.String,
  provider: Schema.String,
  sealed: Schema.String,
})
const decodeKeys = decodeRows("secrets", KeyRow)

export class SecretWithheld extends Schema.TaggedError<SecretWithheld>()("SecretWithheld", { why: Schema.String }) {}

export type Reveal = (
  tenant: string,
  name: string,
  url: string,
) => Effect.Effect<Redacted.Redacted, SecretWithheld | StorageUnavailable>

type KeysOfTenant = (tenant: string) => Effect.Effect<TenantKeys, StorageUnavailable>

export class Secrets extends Context.Service<
  Secrets,
  {
    /** Sets a secret's value, and the origin or provider that it is for. */
    readonly put: (
      tenant: string,
      name: string,
      secret: PutSecret,
    ) => Effect.Effect<SecretInfo, SecretsOff | TooManySecrets | ProviderKeyElsewhere | StorageUnavailable>
    /** By name. */
    readonly list: (tenant: string) => Effect.Effect<ReadonlyArray<SecretInfo>, StorageUnavailable>
    readonly remove: (tenant: string, name: string) => Effect.Effect<void, SecretNotFound | StorageUnavailable>
    /** The value of a secret for a request to `url`, or why it may not be sent there. */
    readonly reveal: Reveal
    /** The tenant's own keys of providers, up to a second old. */
    readonly keysOf: KeysOfTenant
  }
>()("sealgate/services/access/Secrets") {
  static readonly layer = Layer.effect(
    Secrets,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const box = yield* OperatorBox
      const { forget, recent } = yield* makeProviderKeys(sql, box)

      return Secrets.of({
        put: Effect.fn("Secrets.put")(function* (tenant, name, { value, ...destination }) {
          if (box === undefined) return yield* new SecretsOff()
          const at = yield* Clock.currentTimeMillis
          const { origin = null, provider = null } = destination
          const sealed = box.seal(Redacted.value(value), boundTo(tenant, name, { origin, provider }))
          // Concurrent calls may exceed the limit by their number, which harms nothing.
          const written = yield* sql`INSERT INTO secrets (tenant, name, origin, provider, sealed, updated_at)
              SELECT tenant, name, origin, provider, sealed, updated_at FROM (${sql`SELECT ${tenant} AS tenant,
                ${name} AS name, ${origin} AS origin, ${provider} AS provider, ${sealed} AS sealed,
                CAST(${at} AS BIGINT) AS updated_at`}) AS given
              WHERE (SELECT COUNT(*) FROM secrets AS other WHERE other.tenant = ${tenant} AND other.name <> ${name})
                < ${MAX_SECRETS}
              ON CONFLICT (tenant, name) DO UPDATE SET
                origin = excluded.origin, provider = excluded.provider, sealed = excluded.sealed,
                updated_at = excluded.updated_at
              RETURNING name`.pipe(
            Effect.catchIf(
              (error) => SqlError.isSqlError(error) && isDuplicate(error),
              () => Effect.fail(new ProviderKeyElsewhere()),
            ),
          )
          if (written.length === 0) return yield* new TooManySecrets()
          yield* forget(tenant)
          return { name, ...destination, updated_at: DateTime.makeUnsafe(at) }
        }, unavailable),

        list: Effect.fn("Secrets.list")(function* (tenant) {
          const rows = yield* decode(
            yield* sql`SELECT name, origin, provider, updated_at FROM secrets WHERE tenant = ${tenant} ORDER BY name`,
          )
          return rows.map(({ name, origin, provider, updated_at }) => ({
            name,
            ...(origin === null ? {} : { origin }),
            ...(provider === null ? {} : { provider }),
            updated_at,
          }))
        }, unavailable),

        remove: Effect.fn("Secrets.remove")(function* (tenant, name) {
          const removed = yield* sql`DELETE FROM secrets WHERE tenant = ${tenant} AND name = ${name} RETURNING name`
          if (removed.length === 0) return yield* new SecretNotFound()
          yield* forget(tenant)
        }, unavailable),

        reveal: Effect.fn("Secrets.reveal")(function* (tenant, name, url) {
          const [row] = yield* decodeSealed(
            yield* sql`SELECT origin, provider, sealed FROM secrets WHERE tenant = ${tenant} AND name = ${name}`,
          )
          if (row === undefined) return yield* new SecretWithheld({ why: `There is no secret named ${name}.` })
          if (row.origin !== new URL(url).origin) {
            return yield* new SecretWithheld({ why: `The secret ${name} is for ${row.origin ?? row.provider} only.` })
          }
          const value = box?.open(row.sealed, boundTo(tenant, name, row))
          return value === undefined
            ? yield* new SecretWithheld({ why: `The secret ${name} cannot be decrypted. Set it again.` })
            : Redacted.make(value)
        }, unavailable),

        keysOf: recent,
      })
    }),
  )
}

const makeProviderKeys = (sql: SqlClient.SqlClient, box: SecretBox | undefined) => {
  const given = givenRows(sql, { tenant: "TEXT" })
  const keyOf = ({ name, provider, sealed, tenant }: typeof KeyRow.Type) => {
    const key = box?.open(sealed, boundTo(tenant, name, { origin: null, provider }))
    return [provider, key === undefined ? undefined : Redacted.make(key)] as const
  }
  return makeRecent<TenantKeys>(
    Effect.fnUntraced(function* (tenants) {
      const rows = yield* decodeKeys(
        yield* sql`SELECT tenant, name, provider, sealed FROM secrets WHERE provider IS NOT NULL
          AND tenant IN (SELECT tenant FROM ${given(tenants.map((tenant) => ({ tenant })))})`,
      )
      const byTenant = Map.groupBy(rows, ({ tenant }) => tenant)
      return tenants.map((tenant) => ({ tenant, keys: new Map((byTenant.get(tenant) ?? []).map(keyOf)) }))
    }),
  )
}

/** Reveals secrets to tools; none by default. */
export const RevealSecret = Context.Reference<Reveal>("sealgate/services/access/RevealSecret", {
  defaultValue: () => () => Effect.fail(new SecretWithheld({ why: "No secret can be read here." })),
})

export const layerRevealSecret: Layer.Layer<never, never, Secrets> = Layer.effect(
  RevealSecret,
  Effect.map(Secrets, ({ reveal }) => reveal),
)

/** The keys of a tenant for calls of providers; none by default. */
export const ProviderKeys = Context.Reference<KeysOfTenant>("sealgate/services/access/ProviderKeys", {
  defaultValue: () => (tenant) => Effect.succeed({ tenant, keys: new Map() }),
})

export const layerProviderKeys: Layer.Layer<never, never, Secrets> = Layer.effect(
  ProviderKeys,
  Effect.map(Secrets, ({ keysOf }) => keysOf),
)

/** A row moved to another tenant, name, origin or provider cannot be opened. */
const boundTo = (tenant: string, name: string, { origin, provider }: Pick<typeof Row.Type, "origin" | "provider">) =>
  JSON.stringify([tenant, name, origin, provider])
