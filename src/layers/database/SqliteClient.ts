/**
 * `effect/sql` on `node:sqlite`, the database built into Node: the embedded default, with nothing to install.
 *
 * What is committed survives power loss: WAL with `synchronous=FULL` waits for the disk on every commit. That costs one
 * flush per commit (some 0.1 ms on a server SSD, up to 10 ms on a laptop or a network disk), and because `node:sqlite`
 * is synchronous, the event loop waits with it. Readers and writers share one connection; transactions begin
 * `IMMEDIATE` and queue up for it, so they neither interleave nor deadlock.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite"
import { Duration, Effect, Layer, type Scope, Semaphore, Stream } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, SqlError, Statement } from "effect/sql"
import { type DatabaseFileUnusable, openFile } from "./sqliteFile.ts"

export interface SqliteConfig {
  /** Path of the database file, or `:memory:`. Missing folders are made, readable by this user only. */
  readonly filename: string
  /** How long a statement waits for another process's lock before it fails. Default: 5 seconds. */
  readonly busyTimeout?: Duration.Input | undefined
}

const DRIVER = "sqlite-node"
const DEFAULT_BUSY_TIMEOUT = Duration.seconds(5)
/** Prepared statements kept; statements with literals in their text would otherwise pile up. */
const MAX_PREPARED = 256

type Rows = ReadonlyArray<Record<string, unknown>>
type TransformRows = Parameters<SqlConnection.Connection["execute"]>[2]

class SqliteConnection implements SqlConnection.Connection {
  private readonly database: DatabaseSync
  private readonly prepared = new Map<string, StatementSync>()

  constructor(database: DatabaseSync) {
    this.database = database
  }

  get isTransaction(): boolean {
    return this.database.isTransaction
  }

  execute(sql: string, params: ReadonlyArray<unknown>, transformRows: TransformRows) {
    const rows = this.run(sql, params, (statement, values) => statement.all(...values))
    return transformRows === undefined ? rows : Effect.map(rows, transformRows)
  }

  executeRaw(sql: string, params: ReadonlyArray<unknown>) {
    return this.run(sql, params, (statement, values) => statement.run(...values))
  }

  executeValues(sql: string, params: ReadonlyArray<unknown>) {
    return Effect.map(this.execute(sql, params, undefined), valuesOf)
  }

  executeValuesUnprepared(sql: string, params: ReadonlyArray<unknown>) {
    return Effect.map(this.executeUnprepared(sql, params, undefined), valuesOf)
  }

  executeUnprepared(sql: string, params: ReadonlyArray<unknown>, transformRows: TransformRows) {
    const rows = attempt(sql, () => this.database.prepare(sql).all(...bind(params)))
    return transformRows === undefined ? rows : Effect.map(rows, transformRows)
  }

  /** Reads all rows at once: an open cursor would hold the only connection for as long as its reader likes. */
  executeStream(sql: string, params: ReadonlyArray<unknown>, transformRows: TransformRows) {
    return Stream.unwrap(Effect.map(this.execute(sql, params, transformRows), Stream.fromIterable))
  }

  private run<A>(
    sql: string,
    params: ReadonlyArray<unknown>,
    use: (statement: StatementSync, values: Array<SQLInputValue>) => A,
  ) {
    return attempt(sql, () => use(this.prepare(sql), bind(params)))
  }

  private prepare(sql: string): StatementSync {
    const known = this.prepared.get(sql)
    const statement = known ?? this.database.prepare(sql)
    // Moves it to the end of the map, so that the first entry is the one unused for longest.
    this.prepared.delete(sql)
    this.prepared.set(sql, statement)
    if (this.prepared.size > MAX_PREPARED) {
      for (const oldest of this.prepared.keys()) {
        this.prepared.delete(oldest)
        break
      }
    }
    return statement
  }
}

const valuesOf = (rows: Rows) => rows.map((row) => Object.values(row))

/** SQLite knows neither booleans nor dates. */
const bind = (params: ReadonlyArray<unknown>): Array<SQLInputValue> =>
  params.map((value) => {
    if (value === undefined) return null
    if (typeof value === "boolean") return value ? 1 : 0
    // The statement builder passes on primitives and bytes; whatever else gets here, the driver refuses.
    return value as SQLInputValue
  })

const attempt = <A>(operation: string, run: () => A): Effect.Effect<A, SqlError.SqlError> =>
  Effect.try({ try: run, catch: (cause) => sqlError(cause, operation) })

interface NodeSqliteError extends Error {
  readonly errcode?: number
}

const sqlError = (cause: unknown, operation: string): SqlError.SqlError => {
  // `node:sqlite` throws errors that carry SQLite's extended result code as `errcode`; the classifier reads `errno`.
  const error = cause as NodeSqliteError
  return new SqlError.SqlError({
    reason: SqlError.classifySqliteError(Object.assign(error, { errno: error.errcode }), {
      message: error.message,
      operation,
    }),
  })
}

const open = ({ busyTimeout = DEFAULT_BUSY_TIMEOUT, filename }: SqliteConfig) =>
  Effect.acquireRelease(
    openFile(
      filename,
      { timeout: Duration.toMillis(Duration.fromInputUnsafe(busyTimeout)), enableForeignKeyConstraints: true },
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL",
    ),
    (database) => Effect.sync(() => database.close()),
  )

/** Opens the database and closes it with the scope. */
export const make = Effect.fnUntraced(function* (
  config: SqliteConfig,
): Effect.fn.Return<SqlClient.SqlClient, DatabaseFileUnusable, Scope.Scope | Reactivity.Reactivity> {
  const connection = new SqliteConnection(yield* open(config))
  const acquirers = SqlClient.makeSqliteAcquirers({
    connection: Effect.succeed(connection),
    semaphore: yield* Semaphore.make(1),
    isTransaction: (connection) => connection.isTransaction,
  })
  return yield* SqlClient.make({
    ...acquirers,
    driver: DRIVER,
    compiler: Statement.makeCompilerSqlite(),
    beginTransaction: "BEGIN IMMEDIATE",
    prepareTransactionControls: true,
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    spanAttributes: [["db.system.name", "sqlite"]],
  })
})

export const layer = (config: SqliteConfig): Layer.Layer<SqlClient.SqlClient, DatabaseFileUnusable> =>
  Layer.effect(SqlClient.SqlClient, make(config)).pipe(Layer.provide(Reactivity.layer))
