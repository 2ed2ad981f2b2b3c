/** Problems and log lines of failed attempts. Log lines never hold messages, which may quote the task. */
import { Cause, Effect } from "effect"
import { SqlError } from "effect/sql"
import { StorageUnavailable } from "../../domain/operations/storage.ts"
import { placeOfError, typeOfError } from "../../domain/problems/defect.ts"
import { makeProblem, type Problem } from "../../domain/problems/problem.ts"
import { databaseFailed } from "../storedRows.ts"

export const INTERNAL = makeProblem({
  code: "internal",
  status: 500,
  title: "The job failed because of a fault in this server.",
  retryable: false,
})

export const timedOut = (seconds: number): Problem =>
  makeProblem({
    code: "job-timed-out",
    status: 504,
    title: "The job took longer than its agent allows.",
    detail: `The agent's limits.timeout_seconds is ${seconds}. What finished until then is among the steps.`,
    retryable: false,
  })

export const logFailure = ({ code }: Problem) =>
  Effect.logInfo("an attempt at a job failed").pipe(Effect.annotateLogs({ code }))

/** Logs why a worker could not go on. `StorageUnavailable` was logged where the query failed. */
export const logFault = (cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause)
  if (error instanceof StorageUnavailable) return Effect.void
  return SqlError.isSqlError(error) ? databaseFailed(error.reason._tag) : logDefect(cause)
}

export const logDefect = (cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause)
  return Effect.logError("A worker met a fault").pipe(
    Effect.annotateLogs({ fault: typeOfError(error), at: placeOfError(error).join("\n") }),
  )
}
