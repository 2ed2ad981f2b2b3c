/** Background work that survives defects: a defect is logged, and the rest continues. */
import { Cause, type Duration, Effect, Schedule } from "effect"
import type { StorageUnavailable } from "../domain/operations/storage.ts"
import { logFault } from "./logFault.ts"

const logged = (cause: Cause.Cause<unknown>) => logFault("Work in the background met a fault", cause)

/** Runs a task. A failure was logged already. */
export const survive = <R>(task: Effect.Effect<unknown, StorageUnavailable, R>): Effect.Effect<unknown, never, R> =>
  Effect.catchCauseIf(Effect.ignore(task), Cause.hasDies, (cause) => logged(cause))

export const regularly = <R>(task: Effect.Effect<unknown, StorageUnavailable, R>, every: Duration.Input) =>
  Effect.repeat(survive(task), Schedule.spaced(every))

/** Works on stored rows one by one. `instead` handles a row that cannot be read or worked on; by default it is skipped. */
export const rowByRow = <Row extends { readonly id: string }, A, E, R, E2 = never, R2 = never>(
  rows: ReadonlyArray<Row>,
  work: (row: Row) => Effect.Effect<ReadonlyArray<A>, E, R>,
  instead: (row: Row) => Effect.Effect<ReadonlyArray<A>, E2, R2> = () => Effect.succeed([]),
): Effect.Effect<ReadonlyArray<A>, E | E2, R | R2> =>
  Effect.map(
    Effect.forEach(rows, (row) =>
      Effect.catchCauseIf(work(row), Cause.hasDies, (cause) =>
        Effect.andThen(Effect.annotateLogs(logged(cause), { row: row.id }), instead(row)),
      ),
    ),
    (done) => done.flat(),
  )
