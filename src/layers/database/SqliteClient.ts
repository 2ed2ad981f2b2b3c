/**
 * `effect/sql` on `node:sqlite`, the database built into Node: the embedded default, with nothing to install.
 *
 * Committed data survives power loss: WAL with `synchronous=FULL` waits for the disk on every commit. That costs one
 * flush per commit (some 0.1 ms on a server SSD, up to 10 ms on a laptop or a network disk), and because `node:sqlite`
 * is synchronous, the event loop waits with it. So transactions that are ready at the same time share a commit, see
 * `GroupCommit`. Readers and writers share one connection and take turns, so they neither interleave nor deadlock.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite"
import { Effect, Layer, type Scope, Stream } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, type SqlError, Statement } from "effect/sql"
import { GroupCommit, type SqlTurn } from "./GroupCommit.ts"
import { type DatabaseFileUnusable, openFile } from "./sqliteFile.ts"

export interface SqliteConfig {
  /** Path of the database file, or `:memory:`. Missing folders are created, readable by this user only. */
  readonly filename: string
}

const DRIVER = "sqlite-node"
/** How long a statement waits for another program, such as a back-up, before it fails. */
const BUSY_TIMEOUT_MS = 5000
/** Maximum number of kept prepared statements. Statements with literals in their text would otherwise pile up. */
const MAX_PREPARED = 256

type Rows = ReadonlyArray<Record<string, unknown>>
type TransformRows = Parameters<SqlConnection.Connection["execute"]>[2]

class Statements {
  private readonly database: DatabaseSync
  private readonly prepared = new Map<string, StatementSync>()

  constructor(database: DatabaseSync) {
    this.database = database
  }

  /** Prepares a statement for one use. */
  once(sql: string): StatementSync {
    return this.database.prepare(sql)
  }

  get(sql: string): StatementSync {
    const known = this.prepared.get(sql)
    const statement = known ?? this.database.prepare(sql)
    // Moves it to the end of the map, so that the first entry is the least recently used.
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

/** Runs a statement: in a transaction, or between transactions. */
type Runner = <A>(sql: string, run: () => A) => Effect.Effect<A, SqlError.SqlError>

class SqliteConnection implements SqlConnection.Connection {
  private readonly statements: Statements
  private readonly runner: Runner

  constructor(statements: Statements, runner: Runner) {
    this.statements = statements
    this.runner = runner
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
    const rows = this.runner(sql, () => this.statements.once(sql).all(...bind(params)))
    return transformRows === undefined ? rows : Effect.map(rows, transformRows)
  }

  /** Reads all rows at once: an open cursor would occupy the only connection. */
  executeStream(sql: string, params: ReadonlyArray<unknown>, transformRows: TransformRows) {
    return Stream.unwrap(Effect.map(this.execute(sql, params, transformRows), Stream.fromIterable))
  }

  private run<A>(
    sql: string,
    params: ReadonlyArray<unknown>,
    use: (statement: StatementSync, values: Array<SQLInputValue>) => A,
  ) {
    return this.runner(sql, () => use(this.statements.get(sql), bind(params)))
  }
}

class TurnConnection extends SqliteConnection {
  readonly turn: SqlTurn

  constructor(statements: Statements, turn: SqlTurn) {
    super(statements, turn.run)
    this.turn = turn
  }
}

const valuesOf = (rows: Rows) => rows.map((row) => Object.values(row))

/** SQLite has neither booleans nor dates. */
const bind = (params: ReadonlyArray<unknown>): Array<SQLInputValue> =>
  params.map((value) => {
    if (value === undefined) return null
    if (typeof value === "boolean") return value ? 1 : 0
    // The statement builder passes primitives and bytes; the driver rejects anything else.
    return value as SQLInputValue
  })

const open = ({ filename }: SqliteConfig) =>
  Effect.acquireRelease(
    openFile(
      filename,
      { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: true },
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL",
    ),
    (database) => Effect.sync(() => database.close()),
  )

const makeSqliteClient = Effect.fnUntraced(function* (
  config: SqliteConfig,
): Effect.fn.Return<SqlClient.SqlClient, DatabaseFileUnusable, Scope.Scope | Reactivity.Reactivity> {
  const database = yield* open(config)
  const commits = yield* GroupCommit.make(database)
  const statements = new Statements(database)
  const connection = new SqliteConnection(statements, commits.run)
  return yield* SqlClient.make({
    acquirer: Effect.succeed(connection),
    borrower: (use) => use(connection),
    transactionAcquirer: Effect.map(commits.turn, (turn) => new TurnConnection(statements, turn)),
    beginTransaction: commits.begin,
    commit: (connection) =>
      connection instanceof TurnConnection ? connection.turn.commit : Effect.die(new Error("No transaction of ours.")),
    rollback: commits.rollback,
    isTransaction: () => database.isTransaction,
    driver: DRIVER,
    compiler: Statement.makeCompilerSqlite(),
    prepareTransactionControls: true,
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    spanAttributes: [["db.system.name", "sqlite"]],
  })
})

export const layerSqliteClient = (config: SqliteConfig): Layer.Layer<SqlClient.SqlClient, DatabaseFileUnusable> =>
  Layer.effect(SqlClient.SqlClient, makeSqliteClient(config)).pipe(Layer.provide(Reactivity.layer))
