/** Secrets of tenants, encrypted with the operator's key. A call sees only the secrets of its tenant. */
import { Clock, Context, DateTime, Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import {
  MAX_SECRETS,
  type PutSecret,
  type SecretInfo,
  SecretNotFound,
  SecretsOff,
  TooManySecrets,
} from "../../domain/access/secrets.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import { decodeRows, unavailable } from "../storedRows.ts"
import { makeSecretBox } from "./secretBox.ts"

const Row = Schema.Struct({
  name: Schema.String,
  origin: Schema.String,
  updated_at: Schema.DateTimeUtcFromMillis,
})
const decode = decodeRows("secrets", Row)
const decodeSealed = decodeRows("secrets", Schema.Struct({ origin: Schema.String, sealed: Schema.String }))

/** Keys of 32 bytes in base64, the newest first; `undefined` if the operator set none. */
export type SecretKeys = Redacted.Redacted<readonly [string, ...ReadonlyArray<string>]> | undefined

/** A secret that may not be sent, and why. */
export class SecretWithheld extends Schema.TaggedError<SecretWithheld>()("SecretWithheld", { why: Schema.String }) {}

export type Reveal = (
  tenant: string,
  name: string,
  url: string,
) => Effect.Effect<Redacted.Redacted, SecretWithheld | StorageUnavailable>

export class Secrets extends Context.Service<
  Secrets,
  {
    /** Sets a secret's value and origin. */
    readonly put: (
      tenant: string,
      name: string,
      secret: PutSecret,
    ) => Effect.Effect<SecretInfo, SecretsOff | TooManySecrets | StorageUnavailable>
    /** By name. */
    readonly list: (tenant: string) => Effect.Effect<ReadonlyArray<SecretInfo>, StorageUnavailable>
    readonly remove: (tenant: string, name: string) => Effect.Effect<void, SecretNotFound | StorageUnavailable>
    /** The value of a secret for a request to `url`, or why it may not be sent there. */
    readonly reveal: Reveal
  }
>()("sealgate/services/access/Secrets") {
  static readonly layer = (keys: SecretKeys) =>
    Layer.effect(
      Secrets,
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const box = keys === undefined ? undefined : makeSecretBox(Redacted.value(keys))

        return Secrets.of({
          put: Effect.fn("Secrets.put")(function* (tenant, name, { origin, value }) {
            if (box === undefined) return yield* new SecretsOff()
            const at = yield* Clock.currentTimeMillis
            const sealed = box.seal(Redacted.value(value), boundTo(tenant, name, origin))
            // Concurrent calls may exceed the limit by their number, which harms nothing.
            const written = yield* sql`INSERT INTO secrets (tenant, name, origin, sealed, updated_at)
              SELECT tenant, name, origin, sealed, updated_at FROM (${sql`SELECT ${tenant} AS tenant, ${name} AS name,
                ${origin} AS origin, ${sealed} AS sealed, CAST(${at} AS BIGINT) AS updated_at`}) AS given
              WHERE (SELECT COUNT(*) FROM secrets AS other WHERE other.tenant = ${tenant} AND other.name <> ${name})
                < ${MAX_SECRETS}
              ON CONFLICT (tenant, name) DO UPDATE SET
                origin = excluded.origin, sealed = excluded.sealed, updated_at = excluded.updated_at
              RETURNING name`
            if (written.length === 0) return yield* new TooManySecrets()
            return { name, origin, updated_at: DateTime.makeUnsafe(at) }
          }, unavailable),

          list: Effect.fn("Secrets.list")(function* (tenant) {
            return yield* decode(
              yield* sql`SELECT name, origin, updated_at FROM secrets WHERE tenant = ${tenant} ORDER BY name`,
            )
          }, unavailable),

          remove: Effect.fn("Secrets.remove")(function* (tenant, name) {
            const removed = yield* sql`DELETE FROM secrets WHERE tenant = ${tenant} AND name = ${name} RETURNING name`
            if (removed.length === 0) return yield* new SecretNotFound()
          }, unavailable),

          reveal: Effect.fn("Secrets.reveal")(function* (tenant, name, url) {
            const [row] = yield* decodeSealed(
              yield* sql`SELECT origin, sealed FROM secrets WHERE tenant = ${tenant} AND name = ${name}`,
            )
            if (row === undefined) return yield* new SecretWithheld({ why: `There is no secret named ${name}.` })
            if (row.origin !== new URL(url).origin) {
              return yield* new SecretWithheld({ why: `The secret ${name} is for ${row.origin} only.` })
            }
            const value = box?.open(row.sealed, boundTo(tenant, name, row.origin))
            return value === undefined
              ? yield* new SecretWithheld({ why: `The secret ${name} cannot be decrypted. Set it again.` })
              : Redacted.make(value)
          }, unavailable),
        })
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

/** A row moved to another tenant, name or origin cannot be opened. */
const boundTo = (tenant: string, name: string, origin: string): string => JSON.stringify([tenant, name, origin])
