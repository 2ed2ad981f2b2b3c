/**
 * Log lines of failed attempts. They never quote messages, which may quote the task. Also the problems of attempts that
 * timed out or met a fault of this server.
 */
import { Cause, Clock, Effect } from "effect"
import { SqlError } from "effect/sql"
import type { JobId } from "../../domain/jobs/job.ts"
import { StorageUnavailable } from "../../domain/operations/storage.ts"
import { placeOfError, typeOfError } from "../../domain/problems/defect.ts"
import { makeProblem, type Problem } from "../../domain/problems/problem.ts"
import { databaseFailed, databaseReason } from "../storedRows.ts"
import type { FailureCauses } from "./FailureCauses.ts"

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
    detail: `The agent's limits.timeout_seconds is ${seconds}. Finished steps are kept.`,
    retryable: false,
  })

/** Logs a failed attempt at info level if its cause begins with it, otherwise at debug level. */
export const logFailure = (causes: FailureCauses, job: JobId, { code }: Problem) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.logWithLevel(causes.failed(job, code, now) ? "Info" : "Debug")("an attempt at a job failed").pipe(
      Effect.annotateLogs({ code }),
    ),
  )

export const logSuccess = (causes: FailureCauses, job: JobId) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.forEach(
      causes.succeeded(job, now),
      (ended) => Effect.logInfo("attempts at jobs succeed again").pipe(Effect.annotateLogs({ ...ended })),
      { discard: true },
    ),
  )

/** Logs why a worker could not continue. `StorageUnavailable` was already logged where the query failed. */
export const logWorkerFault = (cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause)
  if (error instanceof StorageUnavailable) return Effect.void
  return SqlError.isSqlError(error) ? databaseFailed(databaseReason(error)) : logDefect(cause)
}

export const logDefect = (cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause)
  return Effect.logError("A worker met a fault").pipe(
    Effect.annotateLogs({ fault: typeOfError(error), at: placeOfError(error).join("\n") }),
  )
}
