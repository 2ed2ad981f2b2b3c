/**
 * The workers: each takes a job, runs the program on it, and writes how it ended. A job leaves a worker in exactly one
 * way: it ends, it goes back for its next attempt, it goes back as it is (shutdown), or it was no longer this worker's.
 *
 * When a shutdown begins, steps that are under way may still finish, because what they call is paid for: no other begins,
 * and a job goes back as soon as it has none left. What takes longer than the grace period is broken off.
 */
import { Cause, Clock, Data, Duration, Effect, Exit, Layer, Option, Result, Schedule, Schema, Scope } from "effect"
import { SqlError } from "effect/sql"
import { placeOfError, typeOfError } from "../../domain/problems/defect.ts"
import { makeProblem, type Problem } from "../../domain/problems/problem.ts"
import { StorageUnavailable } from "../../domain/operations/storage.ts"
import { storedSpan } from "../../domain/operations/traceContext.ts"
import type { TenantId } from "../../domain/jobs/agent.ts"
import type { JobId } from "../../domain/jobs/job.ts"
import { JobResult } from "../../domain/jobs/modes.ts"
import { Drain } from "../lifecycle/Drain.ts"
import { spanned } from "../spans.ts"
import { databaseFailed, retryAfterFailure } from "../storedRows.ts"
import { makeAlarms } from "../upstream/Alarms.ts"
import { JobWrites } from "./JobWrites.ts"
import { type JobFailure, JobProgram } from "./JobProgram.ts"
import { JobQueue } from "./JobQueue.ts"
import { JobSettings } from "./JobSettings.ts"
import { JobSignals } from "./JobSignals.ts"
import { jobMessage } from "./jobMessage.ts"
import { type Left, makeStep } from "./JobSteps.ts"
import type { Lease } from "./Lease.ts"

type Outcome = Left | "timed-out" | Exit.Exit<JobResult, JobFailure>

const make = Effect.gen(function* () {
  const drain = yield* Drain
  const leases = yield* JobWrites
  const program = yield* JobProgram
  const queue = yield* JobQueue
  const signals = yield* JobSignals
  const settings = yield* JobSettings
  const scope = yield* Scope.Scope
  const clock = yield* Clock.Clock
  /** Of jobs whose time is over. */
  const alarms = yield* makeAlarms
  /** Closed when its workers have to end. */
  const workers = yield* Scope.fork(scope)

  /** A write is repeated for as long as a lease lasts; after that the job may be another worker's. */
  const AGAIN = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced(MAX_WAIT)]).pipe(
    Schedule.upTo({ duration: settings.lease }),
  )
  const persistently = <A>(write: Effect.Effect<A, StorageUnavailable>) => retryAfterFailure(write, AGAIN)

  /** The jobs of this process, by id. */
  const working = new Map<JobId, Working>()
  /** Whether the last look at the queue may have left something in it. */
  let mayHaveMore = false
  /** Jobs that were stopped while some were being claimed, which may be among those. */
  let stoppedMeanwhile: Set<string> | undefined

  /** Lets go of those among these jobs that are no longer this process's. */
  const check = Effect.fnUntraced(function* (jobs: ReadonlyArray<Working>) {
    const renewed = yield* Effect.result(leases.renew(jobs.map(({ lease }) => lease)))
    const now = alarms.now()
    for (const job of jobs) {
      if (Result.isSuccess(renewed)) {
        if (renewed.success.has(job.lease.job.id)) job.heldAt = now
        else job.leave(GONE)
      } else if (now - job.heldAt >= Duration.toMillis(settings.lease)) {
        // Nobody could tell for as long as a lease lasts: it may be another's by now.
        job.leave(Exit.fail(renewed.failure))
      }
    }
  })

  const hear = Effect.runForkWith(yield* Effect.context())
  yield* signals.listen((topic) => {
    if (!topic.startsWith(STOPPED)) return
    const id = topic.slice(STOPPED.length)
    stoppedMeanwhile?.add(id)
    const job = working.get(id as JobId)
    if (job !== undefined) hear(check([job]))
  })

  /** Runs the program until it ends, its time is over, or it has to stop; what it does when it is interrupted is waited for. */
  const runProgram = (job: Working): Effect.Effect<Outcome, StorageUnavailable> =>
    Effect.suspend(() => {
      const { lease } = job
      const { agent, attempt, id: jobId, mode, options, ran_ms, task, tenant, traceparent } = lease.job
      const due = alarms.now() + agent.limits.timeout_seconds * 1000 - ran_ms
      const record = (step: Parameters<typeof leases.recordStep>[1]) => persistently(leases.recordStep(lease, step))
      const step = makeStep({ lease, draining: drain.draining, leave: job.leave, record, clock })
      const { traceId } = storedSpan(traceparent)
      const context = { jobId, tenant, agent, task, mode, options, attempt, traceId, step }
      const ran = program.run(context).pipe(
        Effect.filterOrElse(isResult, () => Effect.die(new Error("A program's result does not fit its schema."))),
        Effect.exit,
      )
      const look = (moment: number) => job.left ?? (moment < due ? due : TIMED_OUT)
      const watched: Effect.Effect<Outcome, Stopped | StorageUnavailable> = alarms.watched(ran, look, (lookNow) => {
        job.lookNow = lookNow
        // It may have had to stop before it could be told to.
        if (job.left !== undefined) lookNow()
      })
      return Effect.catchIf(
        watched,
        (error) => error instanceof Stopped,
        ({ outcome }) => Effect.succeed(outcome),
      )
    })

  const settle = Effect.fnUntraced(function* (lease: Lease, outcome: Outcome) {
    yield* Effect.annotateCurrentSpan("job.outcome", nameOf(outcome))
    if (outcome === "gone") return yield* Effect.logDebug("The job is no longer this worker's")
    if (outcome === "parked") return yield* persistently(leases.release(lease))
    if (outcome === "timed-out") {
      const problem = timedOut(lease.job.agent.limits.timeout_seconds)
      yield* tellFailure(problem)
      return yield* persistently(leases.end(lease, { status: "timed_out", problem }))
    }
    if (Exit.isSuccess(outcome)) {
      return yield* persistently(leases.end(lease, { status: "completed", result: outcome.value }))
    }
    const failure = Option.getOrUndefined(Cause.findErrorOption(outcome.cause))
    if (failure === undefined) yield* logDefect(outcome.cause)
    const problem = failure?.problem ?? INTERNAL
    yield* tellFailure(problem)
    return yield* persistently(
      leases.fail(lease, {
        problem,
        retryAfter: Duration.millis(failure?.retryAfterMs ?? 0),
        isFault: failure === undefined,
      }),
    )
  })

  const work = (job: Working) =>
    Effect.uninterruptibleMask((restore) => {
      const { lease } = job
      const { attempt, id } = lease.job
      return restore(runProgram(job)).pipe(
        Effect.onInterrupt(() => Effect.ignore(leases.release(lease))),
        Effect.flatMap((outcome) => settle(lease, outcome)),
        withJobSpan(lease.job),
        Effect.annotateLogs({ job: id, attempt }),
        Effect.catchCause((cause) => (Cause.hasInterruptsOnly(cause) ? Effect.void : tellFault(cause))),
        Effect.ensuring(
          Effect.suspend(() => {
            if (working.get(id) === job) working.delete(id)
            return mayHaveMore ? queue.wake : Effect.void
          }),
        ),
      )
    })

  /** Claims as many jobs as there are free workers, and begins to work on them. */
  const claim = Effect.gen(function* () {
    yield* drain.inFlight("job")
    const free = settings.workers - working.size
    mayHaveMore = true
    if (free === 0 || (yield* drain.draining)) return
    stoppedMeanwhile = new Set()
    const running = new Map<TenantId, number>()
    const count = ({ job: { tenant } }: Lease) => running.set(tenant, (running.get(tenant) ?? 0) + 1)
    for (const { lease } of working.values()) count(lease)
    const claimed = yield* queue.claim(free, running)
    claimed.forEach(count)
    mayHaveMore = claimed.length === free || [...running.values()].some((jobs) => jobs >= settings.workersPerTenant)
    const now = alarms.now()
    for (const lease of claimed) {
      const job = new Working(lease, now)
      const before = working.get(lease.job.id)
      working.set(lease.job.id, job)
      // It was taken for dead, and did not know yet.
      before?.leave(GONE)
      if (stoppedMeanwhile.has(lease.job.id)) yield* Effect.forkIn(check([job]), scope)
      yield* Effect.scoped(Effect.andThen(drain.inFlight("job"), work(job))).pipe(
        Effect.forkIn(workers, { startImmediately: true }),
      )
    }
  }).pipe(Effect.scoped, Effect.uninterruptible)

  /** Goes on when it is told that a job is due, when a worker is free again, and, told so below, every now and then. */
  const look = claim.pipe(
    Effect.andThen(queue.woken),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.failCause(cause)
        : Effect.andThen(tellFault(cause), Effect.sleep(settings.poll)),
    ),
  )
  const regularly = (task: Effect.Effect<void, StorageUnavailable>, every: Duration.Duration) =>
    Effect.forkScoped(Effect.repeat(Effect.ignore(task), Schedule.spaced(every)))

  if (settings.workers > 0) {
    yield* Effect.raceFirst(Effect.forever(look), drain.begun).pipe(Effect.forkScoped)
    yield* regularly(
      Effect.suspend(() => Effect.andThen(Effect.ignore(queue.takeBack(working.keys())), queue.wake)),
      settings.poll,
    )
    yield* regularly(
      Effect.suspend(() => check([...working.values()])),
      settings.leaseRefresh,
    )
  }
  yield* drain.aborted.pipe(
    Effect.catch(() => Scope.close(workers, Exit.void)),
    Effect.forkScoped,
  )
})

/** Why a program was interrupted, where that is how the job leaves its worker. */
class Stopped extends Data.TaggedError("Stopped")<{ readonly outcome: Left | "timed-out" }> {}

const TIMED_OUT = Exit.fail(new Stopped({ outcome: "timed-out" }))
const GONE: Exit.Exit<Left> = Exit.succeed("gone")

/** A job that this process works on. */
class Working {
  readonly lease: Lease
  /** The moment at which it was last known to be. */
  heldAt: number
  /** Why its program has to stop; failed otherwise when nobody can tell whose it is, or a step could not be stored. */
  left: Exit.Exit<never, Stopped | StorageUnavailable> | undefined
  /** Has the program stopped at once if it has to. */
  lookNow: () => void = () => undefined

  constructor(lease: Lease, heldAt: number) {
    this.lease = lease
    this.heldAt = heldAt
  }

  /** Has its program stop; the first reason counts. */
  readonly leave = (why: Exit.Exit<Left, StorageUnavailable>): void => {
    this.left ??= Exit.isSuccess(why) ? Exit.fail(new Stopped({ outcome: why.value })) : Exit.failCause(why.cause)
    this.lookNow()
  }
}

/** The longest wait for a database that may be back: workers do nothing else meanwhile. */
const MAX_WAIT = Duration.seconds(1)

const STOPPED = "stopped:"

/**
 * Takes jobs until a shutdown begins or its scope closes. By then every job in flight has ended or gone back to the
 * queue. Layers that it depends on (the database above all) close after it.
 */
export const layerJobRunner = Layer.effectDiscard(make)

const isResult = Schema.is(JobResult)

/**
 * The span of one attempt, wherever it runs. Its parent is the span that enqueued the job, as OpenTelemetry's messaging
 * conventions allow where one message is processed at a time: so a request and all that came of it are one trace.
 */
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

const nameOf = (outcome: Outcome): string =>
  typeof outcome === "string" ? outcome : Exit.isSuccess(outcome) ? "completed" : "failed"

const INTERNAL = makeProblem({
  code: "internal",
  status: 500,
  title: "The job failed because of a fault in this server.",
  retryable: false,
})

const timedOut = (seconds: number): Problem =>
  makeProblem({
    code: "job-timed-out",
    status: 504,
    title: "The job took longer than its agent allows.",
    detail: `The agent's limits.timeout_seconds is ${seconds}. What finished until then is among the steps.`,
    retryable: false,
  })

/** By its code alone: the detail may quote what was worked on. */
const tellFailure = ({ code }: Problem) =>
  Effect.logInfo("an attempt at a job failed").pipe(Effect.annotateLogs({ code }))

/** Why a worker could not go on. A database that is away is no fault of its own, and told where it was asked. */
const tellFault = (cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause)
  if (error instanceof StorageUnavailable) return Effect.void
  return SqlError.isSqlError(error) ? databaseFailed(error.reason._tag) : logDefect(cause)
}

/** Where a fault happened, without its message, which may quote what was worked on. */
const logDefect = (cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause)
  return Effect.logError("A worker met a fault").pipe(
    Effect.annotateLogs({ fault: typeOfError(error), at: placeOfError(error).join("\n") }),
  )
}
