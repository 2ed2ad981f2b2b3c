/** One attempt at a job: runs the program, and writes how it ended. */
import { Cause, Clock, Duration, Effect, Exit, Option, Random, Schedule, Schema } from "effect"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import { storedSpan } from "../../domain/operations/traceContext.ts"
import type { Budgeted } from "../../domain/access/budgets.ts"
import { labelsOf } from "../../domain/routing/labels.ts"
import { JobResult } from "../../domain/jobs/modes.ts"
import { SqlClient } from "effect/sql"
import { unavailable } from "../storedRows.ts"
import { Drain } from "../lifecycle/Drain.ts"
import { spanned } from "../spans.ts"
import { TenantChanges } from "../TenantChanges.ts"
import { FailureCauses } from "./FailureCauses.ts"
import { INTERNAL, logDefect, logFailure, logSuccess, logWorkerFault, timedOut } from "./attemptLog.ts"
import { type JobContext, type JobFailure, JobProgram } from "./JobProgram.ts"
import { JobSettings } from "./JobSettings.ts"
import { jobMessage } from "./jobMessage.ts"
import { type StopReason, makeSteps, waitsForBudget } from "./JobSteps.ts"
import { JobWrites } from "./JobWrites.ts"
import type { Lease } from "./Lease.ts"
import type { RunningJob } from "./RunningJobs.ts"
import type { FinishedStep } from "./stepWrites.ts"
import type { AskedQuestion } from "./storedQuestion.ts"
import { makeWithHistory } from "./threadHistory.ts"

/** Seconds until a job checks again whether other calls have released their reservations. Random, to spread the checks. */
const RESERVED_WAIT = [5, 30] as const

/** How long a job waits if its budgets have too little left. */
const budgetWait = Effect.fnUntraced(function* ({ renewsAt }: JobFailure) {
  if (renewsAt === undefined) return Duration.seconds(yield* Random.nextBetween(...RESERVED_WAIT))
  return Duration.millis(Math.max(0, renewsAt - (yield* Clock.currentTimeMillis)))
})

type AttemptEnd = StopReason | "timed-out" | Exit.Exit<JobResult, JobFailure>

/** Returns a function that makes an attempt at a job. If it is interrupted, the job goes back to the queue. */
export const makeAttempt = Effect.gen(function* () {
  const drain = yield* Drain
  const writes = yield* JobWrites
  const program = yield* JobProgram
  const settings = yield* JobSettings
  const clock = yield* Clock.Clock
  const withHistory = makeWithHistory(yield* SqlClient.SqlClient)
  const { note } = yield* TenantChanges
  const causes = new FailureCauses()

  /** Retries a write for the duration of a lease. After that, the job may be another worker's. */
  const whileLeased = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced(MAX_RETRY_DELAY)]).pipe(
    Schedule.upTo({ duration: settings.lease }),
  )
  const persistently = <A>(write: Effect.Effect<A, StorageUnavailable>) => Effect.retry(write, whileLeased)

  /** Runs the program until it ends, runs out of time, or has to stop, and waits for its finalizers. */
  const run = Effect.fnUntraced(function* ({ lease, stop, stopped }: RunningJob) {
    const { job } = lease
    const remaining = job.agent.limits.timeout_seconds * 1000 - job.ran_ms
    if (remaining <= 0) return "timed-out"
    const record = (step: FinishedStep) => persistently(writes.recordStep(lease, step))
    const steps = makeSteps({ lease, draining: drain.draining, record, stop, clock })
    const ask = (question: AskedQuestion) =>
      Effect.andThen(
        Effect.sync(() => stop(Exit.succeed(question))),
        Effect.never,
      )
    const task = job.thread === null ? job.task : yield* persistently(unavailable(withHistory(job.thread, job)))
    const ran = program.run({ ...jobFacts(job), ...steps, task, ask }).pipe(
      Effect.filterOrElse(isResult, () => Effect.die(new Error("A program's result does not fit its schema."))),
      Effect.exit,
    )
    const timeout = Effect.as(Effect.sleep(Duration.millis(remaining)), "timed-out" as const)
    return yield* Effect.raceAllFirst<Effect.Effect<AttemptEnd, StorageUnavailable>>([stopped, timeout, ran])
  })

  const settle = Effect.fnUntraced(function* (lease: Lease, outcome: AttemptEnd) {
    yield* Effect.annotateCurrentSpan("job.outcome", nameOf(outcome))
    if (outcome === "gone") return yield* Effect.logDebug("The job is no longer this worker's")
    if (outcome === "parked") return yield* persistently(writes.release(lease))
    if (outcome === "timed-out") {
      const problem = timedOut(lease.job.agent.limits.timeout_seconds)
      yield* logFailure(causes, lease.job.id, problem)
      return yield* persistently(writes.end(lease, { status: "timed_out", problem }))
    }
    if ("until" in outcome) {
      const wait = Duration.millis(Math.max(0, outcome.until - clock.currentTimeMillisUnsafe()))
      return yield* persistently(writes.release(lease, wait, "timer"))
    }
    if ("asking" in outcome) return yield* persistently(writes.ask(lease, outcome))
    if (Exit.isSuccess(outcome)) {
      yield* logSuccess(causes, lease.job.id)
      return yield* persistently(writes.end(lease, { status: "completed", result: outcome.value }))
    }
    const failure = Option.getOrUndefined(Cause.findErrorOption(outcome.cause))
    if (failure === undefined) yield* logDefect(outcome.cause)
    const problem = failure?.problem ?? INTERNAL
    yield* logFailure(causes, lease.job.id, problem)
    if (failure !== undefined && waitsForBudget(lease.job.options, failure)) {
      return yield* persistently(writes.release(lease, yield* budgetWait(failure)))
    }
    const retryAfter = Duration.millis(failure?.retryAfterMs ?? 0)
    return yield* persistently(writes.fail(lease, { problem, retryAfter, isFault: failure === undefined }))
  })

  return (job: RunningJob): Effect.Effect<void> =>
    Effect.uninterruptibleMask((restore) =>
      restore(Effect.andThen(note(job.lease.job.tenant), run(job))).pipe(
        Effect.onInterrupt(() => Effect.ignore(writes.release(job.lease))),
        Effect.flatMap((outcome) => settle(job.lease, outcome)),
        Effect.ensuring(note(job.lease.job.tenant)),
        withJobSpan(job.lease.job),
        Effect.annotateLogs({ job: job.lease.job.id, attempt: job.lease.job.attempt }),
        Effect.catchCause((cause) => (Cause.hasInterruptsOnly(cause) ? Effect.void : logWorkerFault(cause))),
        Effect.asVoid,
      ),
    )
})

const jobFacts = ({
  key_id,
  key_models,
  ...job
}: Lease["job"]): Omit<JobContext, "task" | "step" | "ask" | "waitUntil"> => ({
  jobId: job.id,
  tenant: job.tenant,
  agent: job.agent,
  mode: job.mode,
  options: job.options,
  metadata: job.metadata,
  attempt: job.attempt,
  key: key_id ?? undefined,
  labels: labelsOf(job.metadata),
  budgeted: budgetsOf({ key_id, ...job }),
  models: key_models ?? undefined,
})

/** The budgets of a job's agent and key, as they were when it was enqueued. */
const budgetsOf = ({
  agent,
  key_budgets,
  key_id,
}: Pick<Lease["job"], "agent" | "key_budgets" | "key_id">): ReadonlyArray<Budgeted> => [
  ...(agent.budgets === undefined ? [] : [{ owner: { kind: "agent" as const, id: agent.id }, budgets: agent.budgets }]),
  ...(key_id === null || key_budgets === null
    ? []
    : [{ owner: { kind: "key" as const, id: key_id }, budgets: key_budgets }]),
]

/** Longest delay between retries of a write. It is short, because the worker is idle meanwhile. */
const MAX_RETRY_DELAY = Duration.seconds(1)

const isResult = Schema.is(JobResult)

/** The span of an attempt, below the span that enqueued the job: a request and its job form one trace. */
const withJobSpan =
  ({ attempt, id, mode, traceparent }: Lease["job"]) =>
  <A, E>(work: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    work.pipe(
      spanned("job", {
        kind: "consumer",
        attributes: {
          ...jobMessage(id),
          "messaging.operation.name": "work",
          "messaging.operation.type": "process",
          "job.mode": mode,
          "job.attempt": attempt,
        },
      }),
      Effect.withParentSpan(storedSpan(traceparent)),
    )

const nameOf = (outcome: AttemptEnd): string =>
  typeof outcome === "string"
    ? outcome
    : "until" in outcome
      ? "waits"
      : "asking" in outcome
        ? "asked"
        : Exit.isSuccess(outcome)
          ? "completed"
          : "failed"
