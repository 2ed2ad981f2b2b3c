/**
 * The workers: each takes a job, runs the program on it, and writes how it ended. A job leaves a worker in exactly one
 * way: it ends, it goes back for its next attempt, it goes back as it is (shutdown), or it was no longer this worker's.
 *
 * When a shutdown begins, steps that are under way may still finish, because what they call is paid for: no other begins,
 * and a job goes back as soon as it has none left. What takes longer than the grace period is broken off.
 */
import { Cause, Clock, Deferred, Duration, Effect, Exit, Fiber, Layer, Option, Result, Schedule, Schema } from "effect"
import { SqlError } from "effect/sql"
import { placeOfError, typeOfError } from "../../domain/defect.ts"
import { makeProblem, type Problem } from "../../domain/problem.ts"
import { StorageUnavailable } from "../../domain/storage.ts"
import { storedSpan } from "../../domain/traceContext.ts"
import { JobResult } from "../../domain/modes.ts"
import { Drain } from "../lifecycle/Drain.ts"
import { databaseFailed } from "../storedRows.ts"
import { JobLeases, type Lease } from "./JobLeases.ts"
import { type JobFailure, JobProgram } from "./JobProgram.ts"
import { type Element, JobQueue } from "./JobQueue.ts"
import { JobSettings } from "./JobSettings.ts"
import { JobSignals, stopped, type Subscription } from "./JobSignals.ts"
import { jobMessage } from "./jobMessage.ts"
import { makeStep } from "./JobSteps.ts"

type Outcome = "gone" | "parked" | "timed-out" | Exit.Exit<JobResult, JobFailure>

const make = Effect.gen(function* () {
  const drain = yield* Drain
  const leases = yield* JobLeases
  const program = yield* JobProgram
  const queue = yield* JobQueue
  const signals = yield* JobSignals
  const settings = yield* JobSettings

  /** A write is repeated for as long as a lease lasts; after that the job may be another worker's. */
  const persistently = <A>(write: Effect.Effect<A, StorageUnavailable>) =>
    Effect.retry(write, Schedule.exponential("100 millis").pipe(Schedule.upTo({ duration: settings.lease })))

  /**
   * Ends when the job is no longer this worker's. Fails when nobody could tell for as long as a lease lasts: then it may
   * still be nobody else's, so its element has to come back.
   */
  const watch = Effect.fnUntraced(function* (lease: Lease, stop: Subscription) {
    let lastHeld = yield* Clock.currentTimeMillis
    while (true) {
      yield* stop.next
      const held = yield* Effect.result(leases.isHeld(lease))
      const now = yield* Clock.currentTimeMillis
      if (Result.isFailure(held)) {
        if (now - lastHeld >= Duration.toMillis(settings.lease)) return yield* held.failure
      } else if (held.success) lastHeld = now
      else return
    }
  })

  const runProgram = Effect.fnUntraced(function* (lease: Lease, stop: Subscription) {
    const { agent, attempt, id: jobId, mode, options, ran_ms, task, tenant, traceparent } = lease.job
    const left = agent.limits.timeout_seconds * 1000 - ran_ms
    if (left <= 0) return "timed-out"
    const gone = yield* Deferred.make<void, StorageUnavailable>()
    const parked = yield* Deferred.make<void>()
    const record = (step: Parameters<typeof leases.recordStep>[1]) => persistently(leases.recordStep(lease, step))
    const step = makeStep({ lease, draining: drain.draining, parked, gone, record })
    const { traceId } = storedSpan(traceparent)
    const context = { jobId, tenant, agent, task, mode, options, attempt, traceId, step }
    return yield* Effect.raceAllFirst<Effect.Effect<Outcome, StorageUnavailable>>([
      program.run(context).pipe(
        Effect.filterOrElse(isResult, () => Effect.die(new Error("A program's result does not fit its schema."))),
        Effect.exit,
        Effect.timeoutOption(left),
        Effect.map(Option.getOrElse((): Outcome => "timed-out")),
      ),
      Effect.as(Deferred.await(parked), "parked"),
      Effect.as(Deferred.await(gone), "gone"),
      Effect.as(watch(lease, stop), "gone"),
    ])
  })

  const settle = Effect.fnUntraced(function* (lease: Lease, outcome: Outcome) {
    yield* Effect.annotateCurrentSpan("job.outcome", nameOf(outcome))
    if (outcome === "gone") return yield* Effect.logDebug("The job is no longer this worker's")
    if (outcome === "parked") return yield* persistently(leases.release(lease))
    if (outcome === "timed-out") {
      const problem = timedOut(lease.job.agent.limits.timeout_seconds)
      return yield* persistently(leases.end(lease, { status: "timed_out", problem }))
    }
    if (Exit.isSuccess(outcome)) {
      return yield* persistently(leases.end(lease, { status: "completed", result: outcome.value }))
    }
    const failure = Option.getOrUndefined(Cause.findErrorOption(outcome.cause))
    if (failure === undefined) yield* logDefect(outcome.cause)
    return yield* persistently(
      leases.fail(lease, {
        problem: failure?.problem ?? INTERNAL,
        retryAfter: Duration.millis(failure?.retryAfterMs ?? 0),
        isFault: failure === undefined,
      }),
    )
  })

  const work = Effect.fnUntraced(function* (element: Element) {
    yield* drain.inFlight
    // Before the job is this worker's, so that no cancellation after that goes unheard.
    const stop = yield* signals.subscribe(stopped(element.job))
    yield* Effect.uninterruptibleMask(
      Effect.fnUntraced(function* (restore) {
        const started = yield* leases.start(element)
        if (Option.isNone(started)) return
        const lease = started.value
        const { attempt, id } = lease.job
        yield* restore(runProgram(lease, stop)).pipe(
          Effect.onInterrupt(() => Effect.ignore(leases.release(lease))),
          Effect.flatMap((outcome) => settle(lease, outcome)),
          withJobSpan(lease.job),
          Effect.annotateLogs({ job: id, attempt }),
        )
      }),
    )
  }, Effect.scoped)

  /** Waits for an element and works on it. A shutdown ends the waiting, and not the work. */
  const turn = Effect.suspend(() => {
    let busy = false
    const take = queue.take((element) => {
      busy = true
      return work(element)
    })
    return Effect.raceFirst(
      take,
      Effect.andThen(drain.begun, () => (busy ? Effect.never : Effect.void)),
    )
  }).pipe(
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.failCause(cause)
        : Effect.andThen(tellFault(cause), Effect.sleep(settings.poll)),
    ),
  )
  const worker = Effect.repeat(turn, { until: () => drain.draining })

  const workers = Array.from({ length: settings.workers }, () => worker)
  const working = yield* Effect.forkScoped(Effect.all(workers, { concurrency: "unbounded", discard: true }))
  yield* drain.aborted.pipe(
    Effect.catch(() => Fiber.interrupt(working)),
    Effect.forkScoped,
  )
})

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
const withJobSpan = ({ attempt, id, mode, traceparent }: Lease["job"]) =>
  Effect.withSpan("job", {
    kind: "consumer",
    parent: storedSpan(traceparent),
    attributes: {
      ...jobMessage(id),
      "messaging.operation.name": "work",
      "messaging.operation.type": "process",
      "job.mode": mode,
      "job.attempt": attempt,
    },
  })

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
