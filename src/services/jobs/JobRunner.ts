/**
 * The workers: each claims a job, runs its program, and writes how it ended. A job leaves a worker in exactly one way: it
 * ends, waits for its next attempt, goes back unchanged (shutdown), or turns out to be another worker's.
 *
 * A shutdown lets running steps finish, because their calls are paid for, but starts no step. A job without a running
 * step goes back to the queue; steps that outlast the grace period are interrupted.
 */
import { Cause, Duration, Effect, Exit, Layer, Schedule, Scope, Semaphore } from "effect"
import { regularly } from "../background.ts"
import { Drain } from "../lifecycle/Drain.ts"
import { makePersonAnswers } from "./personAnswers.ts"
import { makeAttempt } from "./attempt.ts"
import { logWorkerFault } from "./attemptLog.ts"
import { JobQueue } from "./JobQueue.ts"
import { JobSettings } from "./JobSettings.ts"
import { countTenant, makeRunningJobs } from "./RunningJobs.ts"

/** Works on jobs until a shutdown begins. Once its scope is closed, all jobs have ended or are back in the queue. */
export const layerJobRunner = Layer.effectDiscard(
  Effect.gen(function* () {
    const drain = yield* Drain
    const queue = yield* JobQueue
    const settings = yield* JobSettings
    if (settings.workers === 0) return
    const running = yield* makeRunningJobs
    const workers = yield* Scope.fork(yield* Scope.Scope)
    // One at a time, because `requeueAbandoned` would take a job that is claimed meanwhile for a dead worker's.
    const oneAtATime = (yield* Semaphore.make(1)).withPermit
    const claim = oneAtATime(yield* makeClaim(running, workers))

    /** Claims whenever a job may be due: when one was enqueued, a worker became free, or the poll below woke the queue. */
    const claimForever = claim.pipe(
      Effect.andThen(queue.woken),
      Effect.catchCause((cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.failCause(cause)
          : Effect.andThen(logWorkerFault(cause), Effect.sleep(settings.poll)),
      ),
      Effect.forever,
    )
    const requeueAbandoned = oneAtATime(Effect.suspend(() => queue.requeueAbandoned(running.ids())))
    const poll = Effect.ensuring(requeueAbandoned, queue.wake)
    const { expire } = yield* makePersonAnswers
    // Retries every second while the database is away, so that leases are renewed before they run out.
    const renew = Effect.repeat(running.checkAll, {
      until: (hasAnswered) => hasAnswered,
      schedule: Schedule.spaced(RENEW_AGAIN),
    })

    yield* Effect.forkScoped(Effect.raceFirst(claimForever, drain.begun))
    yield* Effect.forkScoped(regularly(poll, settings.poll))
    yield* Effect.forkScoped(regularly(expire, settings.poll))
    yield* Effect.forkScoped(regularly(renew, settings.leaseRefresh))
    yield* drain.aborted.pipe(
      Effect.catch(() => Scope.close(workers, Exit.void)),
      Effect.forkScoped,
    )
  }),
)

/** The delay between renewals while the database is away. */
const RENEW_AGAIN = Duration.seconds(1)

/** Claims as many jobs as there are free workers, and forks an attempt at each. */
const makeClaim = Effect.fnUntraced(function* (running: Effect.Success<typeof makeRunningJobs>, workers: Scope.Scope) {
  const drain = yield* Drain
  const queue = yield* JobQueue
  const settings = yield* JobSettings
  const attempt = yield* makeAttempt
  /**
   * Whether due jobs may wait for a worker: the last claim filled all free workers, or a tenant has as many jobs here as
   * `workersPerTenant` allows.
   */
  let mayHaveMore = false

  return Effect.gen(function* () {
    yield* drain.inFlight("job")
    const free = settings.workers - running.count()
    // A worker that becomes free during the claim must cause another one.
    mayHaveMore = true
    if (free === 0 || (yield* drain.draining)) return
    const perTenant = running.perTenant()
    const stopSignals = running.stopSignals()
    const claimed = yield* queue.claim(free, perTenant)
    for (const lease of claimed) countTenant(perTenant, lease)
    mayHaveMore = claimed.length === free || [...perTenant.values()].some((jobs) => jobs >= settings.workersPerTenant)
    const jobs = claimed.map(running.add)
    // A stop signal that came during the claim found no running job, so the claimed ones are checked.
    if (running.stopSignals() !== stopSignals) yield* Effect.forkIn(running.check(jobs), workers)
    for (const job of jobs) {
      const freeWorker = Effect.suspend(() => {
        running.remove(job)
        return mayHaveMore ? queue.wake : Effect.void
      })
      yield* Effect.scoped(Effect.andThen(drain.inFlight("job"), Effect.ensuring(attempt(job), freeWorker))).pipe(
        Effect.forkIn(workers, { startImmediately: true }),
      )
    }
  }).pipe(Effect.scoped, Effect.uninterruptible)
})
