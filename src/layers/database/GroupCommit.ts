/**
 * One commit for all transactions that are ready at the same time, so that they share one wait for the disk.
 *
 * Transactions take turns, each as a savepoint inside a shared transaction. The shared one is committed when no turn
 * follows at once, or when it is old or large enough; only then do its transactions return. Reads in between return
 * after the commit, too: uncommitted data could still vanish.
 */
import type { DatabaseSync } from "node:sqlite"
import { Deferred, Effect, Exit, type Scope, Semaphore } from "effect"
import type { SqlError } from "effect/sql"
import { sqlError } from "./sqliteError.ts"

/** How long the first of a group waits for others, in milliseconds, and how many turns share a commit. */
const MAX_AGE = 3
const MAX_TURNS = 64

const SAVEPOINT = "turn"
const RELEASE = `RELEASE SAVEPOINT ${SAVEPOINT}`
const READS = /^\s*(SELECT|PRAGMA)\b/i
const GONE = Effect.die(new Error("The transaction has ended."))

/** The outcome of the shared transaction. */
type Group = Deferred.Deferred<void, SqlError.SqlError>

/** One transaction's turn. */
export interface SqlTurn {
  /** Runs a statement of the transaction. */
  readonly run: <A>(sql: string, run: () => A) => Effect.Effect<A, SqlError.SqlError>
  /** Ends the turn, and waits until its writes are on disk. */
  readonly commit: Effect.Effect<void, SqlError.SqlError>
}

export class GroupCommit {
  readonly begin = `SAVEPOINT ${SAVEPOINT}`
  readonly rollback = `ROLLBACK TO SAVEPOINT ${SAVEPOINT}`
  private readonly database: DatabaseSync
  private readonly permit = Semaphore.makeUnsafe(1)
  private group: Group | undefined
  private since = 0
  private turns = 0
  private inTurn = false
  private isScheduled = false

  /** Its scope must close before the database does. */
  static readonly make = (database: DatabaseSync): Effect.Effect<GroupCommit, never, Scope.Scope> =>
    Effect.acquireRelease(
      Effect.sync(() => new GroupCommit(database)),
      (commits) => Effect.sync(() => commits.flush()),
    )

  private constructor(database: DatabaseSync) {
    this.database = database
  }

  /** Runs a statement outside of transactions, between turns. */
  readonly run = <A>(sql: string, run: () => A): Effect.Effect<A, SqlError.SqlError> =>
    Effect.flatMap(this.permit.withPermit(Effect.sync(() => this.runBetween(sql, run))), ([exit, group]) =>
      group === undefined ? exit : Effect.andThen(Deferred.await(group), exit),
    )

  /** Waits for the next turn, which ends with its commit or with the scope. */
  readonly turn: Effect.Effect<SqlTurn, SqlError.SqlError, Scope.Scope> = Effect.uninterruptibleMask((restore) =>
    Effect.gen({ self: this }, function* () {
      yield* restore(this.permit.take(1))
      let hasEnded = false
      const end = Effect.suspend(() => {
        hasEnded = true
        this.inTurn = false
        this.settle()
        return this.permit.release(1)
      })
      yield* Effect.addFinalizer(() => {
        if (hasEnded) return Effect.void
        this.abandon()
        return end
      })
      const group = yield* this.join()
      this.inTurn = true
      // Without the shared transaction, statements would be committed one by one.
      const unlessGone = <A>(effect: () => Effect.Effect<A, SqlError.SqlError>) =>
        Effect.suspend(() => (this.group === group ? effect() : Effect.andThen(Deferred.await(group), GONE)))
      return {
        run: (sql, run) => unlessGone(() => this.attempt(sql, run)),
        commit: unlessGone(() => this.attempt("commit", () => this.database.exec(RELEASE))).pipe(
          Effect.andThen(end),
          Effect.andThen(Deferred.await(group)),
        ),
      }
    }),
  )

  private runBetween<A>(sql: string, run: () => A): readonly [Exit.Exit<A, SqlError.SqlError>, Group | undefined] {
    // While nothing is uncommitted, reads need not wait.
    if (this.group === undefined && READS.test(sql)) return [this.attempt(sql, run), undefined]
    const group = this.join()
    if (Exit.isFailure(group)) return [Exit.failCause(group.cause), undefined]
    const exit = this.attempt(sql, run)
    this.settle()
    return [exit, Exit.isSuccess(exit) ? group.value : undefined]
  }

  private join(): Exit.Exit<Group, SqlError.SqlError> {
    if (this.group !== undefined) return Exit.succeed(this.group)
    return this.attempt("begin", () => {
      // Cleans up after a failed commit that could not be rolled back.
      if (this.database.isTransaction) this.database.exec("ROLLBACK")
      this.database.exec("BEGIN IMMEDIATE")
      this.since = performance.now()
      this.turns = 0
      this.group = Deferred.makeUnsafe<void, SqlError.SqlError>()
      return this.group
    })
  }

  /** Runs an operation on the database. A failure that undoes the shared transaction fails all its turns. */
  private attempt<A>(operation: string, run: () => A): Exit.Exit<A, SqlError.SqlError> {
    try {
      return Exit.succeed(run())
    } catch (cause) {
      const error = Exit.fail(sqlError(cause, operation))
      if (!this.database.isTransaction) this.close(error)
      return error
    }
  }

  /** Rolls back a turn that was not committed. */
  private abandon(): void {
    if (!this.inTurn || !this.database.isTransaction) return
    try {
      this.database.exec(this.rollback)
      this.database.exec(RELEASE)
    } catch {
      // No savepoint exists: beginning it failed, so nothing was written.
    }
  }

  /** Commits now, or once no other transaction is ready. */
  private settle(): void {
    if (++this.turns >= MAX_TURNS || performance.now() - this.since >= MAX_AGE) return this.flush()
    if (this.isScheduled) return
    this.isScheduled = true
    setImmediate(() => {
      this.isScheduled = false
      // When a running turn ends, it commits for all.
      if (this.inTurn) this.since = -Infinity
      else this.flush()
    })
  }

  private flush(): void {
    if (this.group === undefined) return
    try {
      this.database.exec("COMMIT")
      this.close(Exit.void)
    } catch (cause) {
      const error = sqlError(cause, "commit")
      try {
        if (this.database.isTransaction) this.database.exec("ROLLBACK")
      } catch {
        // The next transaction tries again, and fails if that does not work.
      }
      this.close(Exit.fail(error))
    }
  }

  private close(outcome: Exit.Exit<void, SqlError.SqlError>): void {
    const { group } = this
    this.group = undefined
    if (group !== undefined) Deferred.doneUnsafe(group, outcome)
  }
}
