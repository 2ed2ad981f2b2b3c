/**
 * What is ready at the same time is written or asked together: while one batch is under way, whatever comes waits for
 * the next. So a hundred writes cost a few round trips and flushes, and one that is alone waits for nobody.
 */
import { Array, Cause, Deferred, Effect, Exit, Option } from "effect"
import { SqlError } from "effect/sql"
import type { StorageUnavailable } from "../domain/operations/storage.ts"
import { inTime } from "./storedRows.ts"

interface Batching<In, Out> {
  /** Does all of it in one transaction. Its answers are in the order of `items`. */
  readonly run: (
    items: Array.NonEmptyReadonlyArray<In>,
  ) => Effect.Effect<ReadonlyArray<Out>, SqlError.SqlError | StorageUnavailable>
  /** How many items go together at most. */
  readonly most: number
  /** Items of the same key go one after the other. */
  readonly keyOf?: ((item: In) => unknown) | undefined
}

type Failure = SqlError.SqlError | StorageUnavailable

interface Waiting<In, Out> {
  readonly item: In
  readonly outcome: Deferred.Deferred<Out, Failure>
}

/**
 * Where a batch fails because of what is in it, each of its items is tried alone, so that none fails the others. Where the
 * database does not answer in time, those who came meanwhile fail along, unasked: so the time limit of a batch is that of
 * everybody who waits, and nobody needs a timer of their own. What was handed over is done even if whoever waits for it is
 * interrupted.
 */
export const makeBatched = <In, Out>({ keyOf, most, run }: Batching<In, Out>) =>
  Effect.map(Effect.context(), (context) => {
    const runFork = Effect.runForkWith(context)
    let waiting: globalThis.Array<Waiting<In, Out>> = []
    let isRunning = false

    const next = (): ReadonlyArray<Waiting<In, Out>> => {
      if (keyOf === undefined) return waiting.splice(0, most)
      const batch = new Map<unknown, Waiting<In, Out>>()
      waiting = waiting.filter((each) => {
        const key = keyOf(each.item)
        if (batch.size >= most || batch.has(key)) return true
        batch.set(key, each)
        return false
      })
      return [...batch.values()]
    }

    const perform = (batch: ReadonlyArray<Waiting<In, Out>>): Effect.Effect<void> => {
      const items = batch.map(({ item }) => item)
      if (!Array.isReadonlyArrayNonEmpty(items)) return Effect.void
      return Effect.flatMap(Effect.exit(inTime(Effect.suspend(() => run(items)))), (exit) => {
        if (Exit.isFailure(exit) && batch.length > 1 && isAboutItems(exit.cause)) {
          return Effect.forEach(batch, (each) => perform([each]), { discard: true })
        }
        const answered = Exit.isFailure(exit) && hangs(exit.cause) ? [...batch, ...waiting.splice(0)] : batch
        answered.forEach(({ outcome }, index) =>
          Deferred.doneUnsafe(outcome, Exit.isSuccess(exit) ? answerOf(exit.value, index) : Exit.failCause(exit.cause)),
        )
        return Effect.void
      })
    }

    // Whoever is ready now comes along.
    const drain = Effect.yieldNow.pipe(
      Effect.andThen(Effect.suspend(() => perform(next()))),
      Effect.repeat({ while: () => waiting.length > 0 }),
      Effect.ensuring(
        Effect.sync(() => {
          isRunning = false
          // A fiber may pause between the last look and here, and somebody may have come meanwhile.
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
      Effect.suspend(() => {
        const outcome = Deferred.makeUnsafe<Out, Failure>()
        waiting.push({ item, outcome })
        start()
        return Deferred.await(outcome)
      })
  })

const answerOf = <Out>(answers: ReadonlyArray<Out>, index: number): Exit.Exit<Out> => {
  const [answer] = answers.slice(index, index + 1)
  return answer === undefined
    ? Exit.die(new Error("A batch gave no answer to one of its items."))
    : Exit.succeed(answer)
}

/** Whether the database did not answer in time. */
const hangs = (cause: Cause.Cause<Failure>): boolean =>
  Option.exists(Cause.findErrorOption(cause), (error) => !SqlError.isSqlError(error))

/** A database that is away, or too slow, fails each item in the same way; a row that cannot be read is that of one. */
const isAboutItems = (cause: Cause.Cause<Failure>): boolean => {
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  return error === undefined ? Cause.hasDies(cause) : SqlError.isSqlError(error) && !error.isRetryable
}
