/** The gateway's database: embedded, or Postgres if a URL says so, with its schema up to date. */
import { Effect, Layer } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { JobSignals } from "../../services/jobs/JobSignals.ts"
import { migrate, type MigrationRefused, type SchemaUnknown } from "./migrations.ts"
import type * as PostgresClient from "./PostgresClient.ts"
import type { DatabaseUnreachable } from "./PostgresReachable.ts"
import { type SqliteConfig, layerSqliteClient } from "./SqliteClient.ts"
import type { DatabaseFileUnusable } from "./sqliteFile.ts"
import { layerSqliteOwner } from "./SqliteOwner.ts"
import type { DatabaseInUse } from "./SqliteOwner.ts"

/** An open database, or the failure to open it. */
export type DatabaseLayer = Layer.Layer<
  SqlClient.SqlClient | JobSignals,
  SqlError.SqlError | SchemaUnknown | MigrationRefused | DatabaseInUse | DatabaseFileUnusable | DatabaseUnreachable
>

const migrated = Layer.effectDiscard(migrate)

/** One file, owned by one process: a second one fails with `DatabaseInUse`. */
export const layerSqlite = (config: SqliteConfig): DatabaseLayer =>
  JobSignals.layerLocal.pipe(
    Layer.merge(migrated),
    Layer.provideMerge(layerSqliteClient(config)),
    Layer.provide(layerSqliteOwner(config.filename)),
  )

/** One database for any number of processes. Its driver is loaded only here, so that the default starts fast. */
export const layerPostgres = (config: PostgresClient.PostgresConfig): DatabaseLayer =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() =>
        Promise.all([import("./PostgresClient.ts"), import("./PostgresSignals.ts"), import("./PostgresReachable.ts")]),
      ),
      ([client, signals, reachable]) =>
        signals.layerPostgresSignals(config).pipe(
          Layer.merge(migrated),
          Layer.provide(reachable.layerPostgresReachable(config)),
          // One connection is kept for LISTEN.
          Layer.provideMerge(
            client.layerPostgresClient({
              ...config,
              maxConnections: Math.max(1, (config.maxConnections ?? client.MAX_CONNECTIONS) - 1),
            }),
          ),
        ),
    ),
  )
