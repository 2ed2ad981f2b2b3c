/** Batches concurrent reads or writes: while one batch is under way, new items wait for the next. */
import { Array, Cause, Context, Deferred, Effect, Exit, Option } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import type { StorageUnavailable } from "../domain/operations/storage.ts"
import { isServerFault, sqlState } from "../domain/problems/postgresErrors.ts"
import { inTime } from "./storedRows.ts"

interface Batching<In, Out> {
  /**
   * Processes the items in one transaction, and returns the answers in their order. If there are fewer answers than
   * items, the rest go into the next batch.
   */
  readonly run: (
    items: Array.NonEmptyReadonlyArray<In>,
  ) => Effect.Effect<ReadonlyArray<Out>, SqlError.SqlError | StorageUnavailable>
  /** Items with the same key go into different batches. */
  readonly keyOf?: ((item: In) => unknown) | undefined
}

/** Most items in one batch: enough to share a commit, few enough for one statement. */
const MOST = 64

type Failure = SqlError.SqlError | StorageUnavailable

interface BatchItem<In, Out> {
  readonly item: In
  readonly outcome: Deferred.Deferred<Out, Failure>
}

/**
 * Returns a function that adds an item to the next batch. If a batch fails because of an item, each item is tried
 * alone. If the database times out, the items that wait for the next batch fail too, so that one timer per batch is
 * enough. An added item is processed even if its caller is interrupted. An item added within a transaction is processed
 * there, alone: a batch runs on another connection, and the transaction would wait for the batch while it holds its own
 * connection.
 */
export const makeBatched = <In, Out>({ keyOf, run }: Batching<In, Out>) =>
  Effect.map(Effect.context(), (context) => {
    const runFork = Effect.runForkWith(context)
    const transaction = Context.getOrUndefined(context, SqlClient.SqlClient)?.transactionService
    let waiting: globalThis.Array<BatchItem<In, Out>> = []
    let isRunning = false

    const next = (): ReadonlyArray<BatchItem<In, Out>> => {
      if (keyOf === undefined) return waiting.splice(0, MOST)
      const batch = new Map<unknown, BatchItem<In, Out>>()
      waiting = waiting.filter((each) => {
        const key = keyOf(each.item)
        if (batch.size >= MOST || batch.has(key)) return true
        batch.set(key, each)
        return false
      })
      return [...batch.values()]
    }

    const perform = (batch: ReadonlyArray<BatchItem<In, Out>>): Effect.Effect<void> => {
      const items = batch.map(({ item }) => item)
      if (!Array.isReadonlyArrayNonEmpty(items)) return Effect.void
      return Effect.flatMap(Effect.exit(inTime(Effect.suspend(() => run(items)))), (exit) => {
        if (Exit.isFailure(exit) && batch.length > 1 && isAboutItems(exit.cause)) {
          return Effect.forEach(batch, (each) => perform([each]), { discard: true })
        }
        // Without any answer, the first item fails.
        const processed = Exit.isSuccess(exit) ? Math.max(1, exit.value.length) : batch.length
        waiting.unshift(...batch.slice(processed))
        const answered =
          Exit.isFailure(exit) && hangs(exit.cause) ? [...batch, ...waiting.splice(0)] : batch.slice(0, processed)
        answered.forEach(({ outcome }, index) =>
          Deferred.doneUnsafe(outcome, Exit.isSuccess(exit) ? answerOf(exit.value, index) : Exit.failCause(exit.cause)),
        )
        return Effect.void
      })
    }

    // Yields first, so that concurrent items join the batch.
    const drain = Effect.yieldNow.pipe(
      Effect.andThen(Effect.suspend(() => perform(next()))),
      Effect.repeat({ while: () => waiting.length > 0 }),
      Effect.ensuring(
        Effect.sync(() => {
          isRunning = false
          // An item may have arrived between the last check and here.
          if (waiting.length > 0) start()
        }),
      ),
    )
    const start = (): void => {
      if (isRunning) return
      isRunning = true
      runFork(drain)
    }

    return (item: In): Effect.Effect<Out, Failure> =>
      Effect.contextWith((caller) => {
        if (transaction !== undefined && Context.getOrUndefined(caller, transaction) !== undefined)
          return alone(run, item)
        const outcome = Deferred.makeUnsafe<Out, Failure>()
        waiting.push({ item, outcome })
        start()
        return Deferred.await(outcome)
      })
  })

const alone = <In, Out>(run: Batching<In, Out>["run"], item: In): Effect.Effect<Out, Failure> =>
  inTime(Effect.flatMap(run([item]), (answers) => answerOf(answers, 0)))

const answerOf = <Out>(answers: ReadonlyArray<Out>, index: number): Exit.Exit<Out> => {
  const [answer] = answers.slice(index, index + 1)
  return answer === undefined
    ? Exit.die(new Error("A batch gave no answer to one of its items."))
    : Exit.succeed(answer)
}

/** Whether the database did not answer in time. */
const hangs = (cause: Cause.Cause<Failure>): boolean =>
  Option.exists(Cause.findErrorOption(cause), (error) => !SqlError.isSqlError(error))

/** Whether single items may succeed: yes if one row cannot be read, no if the database is away, too slow or damaged. */
const isAboutItems = (cause: Cause.Cause<Failure>): boolean => {
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (error === undefined) return Cause.hasDies(cause)
  return SqlError.isSqlError(error) && !error.isRetryable && !isServerFault(sqlState(error) ?? "")
}
