/** Push configurations of A2A: receivers of the notices of a task. Notices are sent like webhooks. */
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { SecretsOff } from "../../domain/access/secrets.ts"
import type { JobId } from "../../domain/jobs/job.ts"
import type { KnownPushConfig, PushConfig } from "../../domain/jobs/pushConfig.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import { OperatorBox, type SecretBox } from "../access/secretBox.ts"
import { decodeRows, unavailable } from "../storedRows.ts"

/** Maximum number of a task's configurations. */
export const MAX_PUSH_CONFIGS = 8

/** Headers that prove to a receiver that a notice is genuine. */
const Credentials = Schema.Struct({
  "x-a2a-notification-token": Schema.optionalKey(Schema.String),
  authorization: Schema.optionalKey(Schema.String),
})
type Credentials = typeof Credentials.Type
const decodeCredentials = Schema.decodeUnknownEffect(Schema.fromJsonString(Credentials))

const decode = decodeRows("push_configs", Schema.Struct({ id: Schema.String, url: Schema.String }))

/** The task of a configuration; `context` is what its client calls the conversation. */
export interface Task {
  readonly id: JobId
  readonly context: string
}

export class PushConfigs extends Context.Service<
  PushConfigs,
  {
    /** Fails if the configuration has credentials, which could not be encrypted. */
    readonly check: (config: PushConfig) => Effect.Effect<void, SecretsOff>
    /** Whether the task has fewer than the maximum number of configurations, or already has one with this id. */
    readonly hasRoom: (task: JobId, config: PushConfig) => Effect.Effect<boolean, StorageUnavailable>
    /** Adds a configuration, or replaces the one with its id, which by default is that of the task. */
    readonly set: (task: Task, config: PushConfig) => Effect.Effect<KnownPushConfig, SecretsOff | StorageUnavailable>
    /** By id. */
    readonly list: (task: JobId) => Effect.Effect<ReadonlyArray<KnownPushConfig>, StorageUnavailable>
    readonly remove: (task: JobId, id: string) => Effect.Effect<void, StorageUnavailable>
  }
>()("sealgate/services/webhooks/PushConfigs") {
  static readonly layer = Layer.effect(
    PushConfigs,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const box = yield* OperatorBox

      const sealed = (config: PushConfig, task: string) => {
        const credentials = credentialsOf(config)
        if (Object.keys(credentials).length === 0) return Effect.succeed(null)
        if (box === undefined) return Effect.fail(new SecretsOff())
        return Effect.succeed(box.seal(JSON.stringify(credentials), boundTo(task, config.url)))
      }

      return PushConfigs.of({
        check: (config) => Effect.asVoid(sealed(config, "")),

        hasRoom: Effect.fnUntraced(function* (task, config) {
          const others = sql`SELECT COUNT(*) FROM push_configs WHERE job_id = ${task} AND id <> ${idOf(task, config)}`
          // Concurrent calls may exceed the limit by their number, which is harmless.
          const [count] = yield* sql<{ others: number }>`SELECT CAST((${others}) AS INTEGER) AS others`
          return count !== undefined && count.others < MAX_PUSH_CONFIGS
        }, unavailable),

        set: Effect.fnUntraced(function* (task, config) {
          const id = idOf(task.id, config)
          const row = { job_id: task.id, id, url: config.url, context_id: task.context }
          yield* sql`INSERT INTO push_configs ${sql.insert({ ...row, sealed: yield* sealed(config, task.id) })}
            ON CONFLICT (job_id, id) DO UPDATE SET url = excluded.url, context_id = excluded.context_id,
              sealed = excluded.sealed`
          return { id, url: config.url }
        }, unavailable),

        list: Effect.fnUntraced(function* (task) {
          return yield* decode(yield* sql`SELECT id, url FROM push_configs WHERE job_id = ${task} ORDER BY id`)
        }, unavailable),

        remove: Effect.fnUntraced(function* (task, id) {
          yield* sql`DELETE FROM push_configs WHERE job_id = ${task} AND id = ${id}`
        }, unavailable),
      })
    }),
  )
}

const idOf = (task: JobId, { id = "" }: PushConfig): string => (id === "" ? task : id)

const credentialsOf = ({ authentication, token }: PushConfig): Credentials => {
  const [text, credentials] = [token, authentication?.credentials].map((secret) =>
    secret === undefined ? "" : Redacted.value(secret),
  )
  return {
    ...(text && { "x-a2a-notification-token": text }),
    ...(authentication && credentials && { authorization: `${authentication.scheme || "Bearer"} ${credentials}` }),
  }
}

/** Opens the credentials of a notice; `undefined` if the operator's key that encrypted them is gone. */
export const openCredentials = (box: SecretBox | undefined, sealed: string, task: string, url: string) => {
  const text = box?.open(sealed, boundTo(task, url))
  return text === undefined ? Effect.undefined : Effect.orDie(decodeCredentials(text))
}

/** Credentials moved to another task or URL cannot be opened. */
const boundTo = (task: string, url: string): string => JSON.stringify(["push", task, url])
