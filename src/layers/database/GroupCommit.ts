/**
 * One commit for all transactions that are ready at the same time: the disk is waited for once, and not once for each.
 *
 * Transactions take turns, each as a savepoint inside a transaction that they share. When nobody's turn follows at once,
 * or the shared one is old or large enough, it is committed, and only then is anybody told that their own is. Whoever
 * reads meanwhile is answered after the commit, too: what is not on disk yet could still vanish.
 */
import type { DatabaseSync } from "node:sqlite"
import { Deferred, Effect, Exit, type Scope, Semaphore } from "effect"
import type { SqlError } from "effect/sql"
import { sqlError } from "./sqliteError.ts"

/** How long the first of a group may wait for others, in milliseconds, and how many they may be. */
const MAX_AGE = 3
const MAX_TURNS = 64

const SAVEPOINT = "turn"
const RELEASE = `RELEASE SAVEPOINT ${SAVEPOINT}`
const READS = /^\s*(SELECT|PRAGMA)\b/i
const GONE = Effect.die(new Error("The transaction has ended."))

/** The outcome of the transaction that several share. */
type Group = Deferred.Deferred<void, SqlError.SqlError>

/** One transaction's turn. */
export interface Turn {
  /** Runs a statement of the transaction. */
  readonly run: <A>(sql: string, run: () => A) => Effect.Effect<A, SqlError.SqlError>
  /** Ends the turn, and waits until what it wrote is on disk. */
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

  /** Its scope has to close before the database does. */
  static readonly make = (database: DatabaseSync): Effect.Effect<GroupCommit, never, Scope.Scope> =>
    Effect.acquireRelease(
      Effect.sync(() => new GroupCommit(database)),
      (commits) => Effect.sync(() => commits.flush()),
    )

  private constructor(database: DatabaseSync) {
    this.database = database
  }

  /** Runs a statement that is part of no transaction, when it is nobody's turn. */
  readonly run = <A>(sql: string, run: () => A): Effect.Effect<A, SqlError.SqlError> =>
    Effect.flatMap(this.permit.withPermit(Effect.sync(() => this.runBetween(sql, run))), ([exit, group]) =>
      group === undefined ? exit : Effect.andThen(Deferred.await(group), exit),
    )

  /** Waits for the next turn. It ends with its commit, or with the scope. */
  readonly turn: Effect.Effect<Turn, SqlError.SqlError, Scope.Scope> = Effect.uninterruptibleMask((restore) =>
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
      // Once the shared transaction is gone, statements would be committed one by one.
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
    // Nothing is to be waited for where there is nothing that is not on disk.
    if (this.group === undefined && READS.test(sql)) return [this.attempt(sql, run), undefined]
    const group = this.join()
    if (Exit.isFailure(group)) return [Exit.failCause(group.cause), undefined]
    const exit = this.attempt(sql, run)
    this.settle()
    return [exit, Exit.isSuccess(exit) ? group.value : undefined]
  }

  /** The group that is open, or a new one. */
  private join(): Exit.Exit<Group, SqlError.SqlError> {
    if (this.group !== undefined) return Exit.succeed(this.group)
    return this.attempt("begin", () => {
      // What is left of a commit that failed, and could not be undone then.
      if (this.database.isTransaction) this.database.exec("ROLLBACK")
      this.database.exec("BEGIN IMMEDIATE")
      this.since = performance.now()
      this.turns = 0
      this.group = Deferred.makeUnsafe<void, SqlError.SqlError>()
      return this.group
    })
  }

  /** Runs something on the database. A failure that has undone the shared transaction is everybody's. */
  private attempt<A>(operation: string, run: () => A): Exit.Exit<A, SqlError.SqlError> {
    try {
      return Exit.succeed(run())
    } catch (cause) {
      const error = Exit.fail(sqlError(cause, operation))
      if (!this.database.isTransaction) this.close(error)
      return error
    }
  }

  /** A turn that does not end well leaves nothing behind. */
  private abandon(): void {
    if (!this.inTurn || !this.database.isTransaction) return
    try {
      this.database.exec(this.rollback)
      this.database.exec(RELEASE)
    } catch {
      // There is no savepoint: to begin it was what failed, so that nothing was written.
    }
  }

  /** Commits now, or as soon as nobody else has something to add. */
  private settle(): void {
    if (++this.turns >= MAX_TURNS || performance.now() - this.since >= MAX_AGE) return this.flush()
    if (this.isScheduled) return
    this.isScheduled = true
    setImmediate(() => {
      this.isScheduled = false
      // A turn under way commits for all when it ends.
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
        // Whoever comes next tries again, and is told if it does not work.
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
