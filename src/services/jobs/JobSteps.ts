/** How a program's steps become durable: run once, stored before anything builds on them, replayed when it resumes. */
import { Cause, type Clock, type Context, Effect, Exit, Option, Schema } from "effect"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import { type Step, stepName } from "../../domain/jobs/step.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import { spanned } from "../spans.ts"
import { jsonOf } from "../storedRows.ts"
import type { FinishedStep } from "./stepWrites.ts"
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
  /** Told why the program has to stop, which interrupts it; failed when a step could not be stored. */
  readonly leave: (why: Exit.Exit<Left, StorageUnavailable>) => void
  readonly clock: Clock.Clock
}

export const makeStep = ({ clock, draining, lease, leave, record }: StepsOptions): JobContext["step"] => {
  const { mode } = lease.job
  const used = new Set<string>()
  let underWay = 0
  let waiting = 0

  const leaveWhenParked = () => {
    if (underWay === 0 && waiting > 0) leave(Exit.succeed("parked"))
  }

  /** Holds a step back for the next process: the runner interrupts it with the program. */
  const park = Effect.suspend(() => {
    waiting++
    leaveWhenParked()
    return Effect.never
  })

  const over = () => {
    underWay--
    leaveWhenParked()
    return undefined
  }

  /** Goes on as `exit` says once the step is on disk. If it is not, the runner is told, and interrupts the program. */
  const store = <A, E>(finished: FinishedStep, exit: Exit.Exit<StepOutcome<A>, E>, restore: Restore) =>
    Effect.matchCauseEffect(record(finished), {
      onFailure: (cause) => {
        leave(Exit.failCause(cause))
        return restore(Effect.never)
      },
      onSuccess: (isRecorded): Effect.Effect<A, E> => {
        if (!isRecorded) {
          leave(Exit.succeed("gone"))
          return restore(Effect.never)
        }
        return Effect.contextWith((context: Context.Context<never>) => {
          const { finishedAt, outcome, startedAt } = finished
          stepFinished(mode, outcome === null ? "failed" : "completed", finishedAt - startedAt, context)
          return Exit.map(exit, ({ value }) => value)
        })
      },
    })

  return <A, I, E, R>(step: Step, schema: Schema.Codec<A, I>, effect: Effect.Effect<StepOutcome<A>, E, R>) => {
    const name = stepName(step)

    const replay = (known: string) =>
      Effect.andThen(
        stepReplayed(mode),
        Effect.catch(Schema.decodeEffect(jsonOf(schema))(known), () => unfit(name)),
      )

    // A call that succeeded is stored even when the job is being interrupted: it is not paid a second time.
    const run = Effect.uninterruptibleMask((restore) => {
      underWay++
      const startedAt = clock.currentTimeMillisUnsafe()
      const finish = (exit: Exit.Exit<StepOutcome<A>, E>) => {
        const finishedAt = clock.currentTimeMillisUnsafe()
        if (Exit.isFailure(exit)) {
          if (Cause.hasInterrupts(exit.cause)) return Effect.failCause(exit.cause)
          const call = callOf(exit.cause) ?? null
          return store({ step, outcome: null, call, startedAt, finishedAt }, exit, restore)
        }
        const { call = null, receipt, value } = exit.value
        const outcome = encode(schema, value)
        if (outcome === undefined) return unfit(name)
        return store({ step, outcome, call, startedAt, finishedAt, ...withoutUndefined({ receipt }) }, exit, restore)
      }
      return Effect.onExitPrimitive(
        Effect.matchCauseEffect(restore(effect), {
          onFailure: (cause) => finish(Exit.failCause(cause)),
          onSuccess: (outcome) => finish(Exit.succeed(outcome)),
        }),
        over,
      )
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

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** What is stored of a value; `undefined` if it does not fit. */
const encode = <A, I>(schema: Schema.Codec<A, I>, value: A): string | undefined => {
  const encoded = Schema.encodeExit(schema)(value)
  return Exit.isSuccess(encoded) ? JSON.stringify(encoded.value) : undefined
}

const callOf = (cause: Cause.Cause<unknown>) => {
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  return error instanceof JobFailure ? error.call : undefined
}

/** The message names the step only: a schema error quotes the outcome. */
const unfit = (name: string) => Effect.die(new Error(`The outcome of step "${name}" does not fit its schema.`))
