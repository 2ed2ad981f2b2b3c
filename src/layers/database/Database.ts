/** The gateway's database: the embedded one, or Postgres when a URL says so; either way with its schema up to date. */
import { Effect, Layer } from "effect"
import { JobSignals } from "../../services/jobs/JobSignals.ts"
import { migrate } from "./migrations.ts"
import type * as PostgresClient from "./PostgresClient.ts"
import * as SqliteClient from "./SqliteClient.ts"
import * as SqliteOwner from "./SqliteOwner.ts"

const migrated = Layer.effectDiscard(migrate)

/** One file, owned by one process at a time: another that starts meanwhile fails with `DatabaseInUse`. */
export const layerSqlite = (config: SqliteClient.SqliteConfig) =>
  JobSignals.layerLocal.pipe(
    Layer.merge(migrated),
    Layer.provideMerge(SqliteClient.layer(config)),
    Layer.provide(SqliteOwner.layer(config.filename)),
  )

/** Any number of processes on one database. Its driver is loaded only here, so that the embedded default starts fast. */
export const layerPostgres = (config: PostgresClient.PostgresConfig) =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => Promise.all([import("./PostgresClient.ts"), import("./PostgresSignals.ts")])),
      ([client, signals]) => signals.layer.pipe(Layer.merge(migrated), Layer.provideMerge(client.layer(config))),
    ),
  )
