/** How a program's steps become durable: run once, stored before anything builds on them, replayed when it resumes. */
import { Cause, Clock, Deferred, Duration, Effect, Exit, Option, Schema } from "effect"
import { defined } from "../../domain/defined.ts"
import { type Step, stepName } from "../../domain/step.ts"
import type { StorageUnavailable } from "../../domain/storage.ts"
import { spanned } from "../spans.ts"
import { jsonOf } from "../storedRows.ts"
import type { FinishedStep } from "./JobLeases.ts"
import { stepFinished, stepReplayed } from "./JobMetrics.ts"
import { type JobContext, JobFailure, type StepOutcome } from "./JobProgram.ts"
import type { Lease } from "./Lease.ts"

/** The job is no longer this worker's, or a step may not begin any more and none is under way. */
export type Left = "gone" | "parked"

export interface StepsOptions {
  readonly lease: Lease
  /** Whether no step may begin any more. */
  readonly draining: Effect.Effect<boolean>
  /** Stores a step; `false` when the job is no longer this worker's. */
  readonly record: (step: FinishedStep) => Effect.Effect<boolean, StorageUnavailable>
  /** Why the program has to stop; failed when a step could not be stored. */
  readonly left: Deferred.Deferred<Left, StorageUnavailable>
}

export const makeStep = ({ draining, lease, left, record }: StepsOptions): JobContext["step"] => {
  const { mode } = lease.job
  const used = new Set<string>()
  let underWay = 0
  let waiting = 0

  const tellWhenParked = Effect.suspend(() =>
    underWay === 0 && waiting > 0 ? Deferred.succeed(left, "parked") : Effect.void,
  )

  /** Holds a step back for the next process: the runner interrupts it with the program. */
  const park = Effect.suspend(() => {
    waiting++
    return Effect.andThen(tellWhenParked, Effect.never)
  })

  const over = Effect.suspend(() => {
    underWay--
    return tellWhenParked
  })

  /** Whether the step is on disk. If not, the runner is told, and interrupts the program. */
  const store = Effect.fnUntraced(function* (step: FinishedStep) {
    const recorded = yield* Effect.exit(record(step))
    if (Exit.isSuccess(recorded) && recorded.value) {
      const took = Duration.millis(step.finishedAt - step.startedAt)
      yield* stepFinished(mode, step.outcome === null ? "failed" : "completed", took)
      return true
    }
    yield* Deferred.done(
      left,
      Exit.map(recorded, (): Left => "gone"),
    )
    return false
  })

  return <A, I, E, R>(step: Step, schema: Schema.Codec<A, I>, effect: Effect.Effect<StepOutcome<A>, E, R>) => {
    const name = stepName(step)
    const codec = jsonOf(schema)

    const replay = (known: string) =>
      Effect.andThen(
        stepReplayed(mode),
        Effect.catch(Schema.decodeEffect(codec)(known), () => unfit(name)),
      )

    // A call that succeeded is stored even when the job is being interrupted: it is not paid a second time.
    const run = Effect.uninterruptibleMask((restore) => {
      underWay++
      const ran = Effect.gen(function* () {
        const startedAt = yield* Clock.currentTimeMillis
        const exit = yield* Effect.exit(restore(effect))
        if (Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause)) return yield* Effect.failCause(exit.cause)
        const finishedAt = yield* Clock.currentTimeMillis
        const outcome = Exit.isSuccess(exit)
          ? yield* Effect.catch(Schema.encodeEffect(codec)(exit.value.value), () => unfit(name))
          : null
        const call = Exit.isSuccess(exit) ? exit.value.call : callOf(exit.cause)
        const receipt = Exit.isSuccess(exit) ? exit.value.receipt : undefined
        const finished = { step, outcome, call: call ?? null, startedAt, finishedAt, ...defined({ receipt }) }
        const onDisk = yield* store(finished)
        return onDisk ? (yield* exit).value : yield* restore(Effect.never)
      })
      return Effect.ensuring(ran, over)
    })

    return Effect.suspend((): Effect.Effect<A, E, R> => {
      if (used.has(name)) return Effect.die(new Error(`Step "${name}" was begun twice in one run of a job.`))
      used.add(name)
      const known = lease.finished.get(name)
      if (known !== undefined) return replay(known)
      const step = spanned("job.step", { attributes: { "job.step": name } })(run)
      return Effect.flatMap(draining, (late) => (late ? park : step))
    })
  }
}

const callOf = (cause: Cause.Cause<unknown>) => {
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  return error instanceof JobFailure ? error.call : undefined
}

/** The message names the step only: a schema error quotes the outcome. */
const unfit = (name: string) => Effect.die(new Error(`The outcome of step "${name}" does not fit its schema.`))
