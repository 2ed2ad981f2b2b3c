/** Makes a program's steps durable: each runs once, is stored before anything builds on it, and is replayed on resume. */
import { Cause, type Clock, Effect, Exit, Option, Schema } from "effect"
import { BUDGET_RESERVED } from "../../domain/access/budgets.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import type { JobOptions } from "../../domain/jobs/modes.ts"
import { type Step, stepName } from "../../domain/jobs/step.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import { spanned } from "../spans.ts"
import { jsonOf } from "../storedRows.ts"
import { stepFinished, stepReplayed } from "./JobMetrics.ts"
import { type JobContext, JobFailure, type StepOutcome } from "./JobProgram.ts"
import type { Lease } from "./Lease.ts"
import { ModeMistake } from "./ModeMistake.ts"
import type { FinishedStep } from "./stepWrites.ts"
import type { AskedQuestion } from "./storedQuestion.ts"

/**
 * Why a worker stops a program before its end. `gone`: the job is no longer this worker's. `parked`: no step may begin
 * any more, and none is running. `until`: the same, and the program continues at that time. A question: a person must answer.
 */
export type StopReason = "gone" | "parked" | { readonly until: number } | AskedQuestion

export interface StepsOptions {
  readonly lease: Lease
  /** Whether no step may begin any more. */
  readonly draining: Effect.Effect<boolean>
  /** Stores a step; `false` when the job is no longer this worker's. */
  readonly record: (step: FinishedStep) => Effect.Effect<boolean, StorageUnavailable>
  /** Interrupts the program and says why. Fails if a step could not be stored. */
  readonly stop: (why: Exit.Exit<StopReason, StorageUnavailable>) => void
  readonly clock: Clock.Clock
}

export const makeSteps = ({
  clock,
  draining,
  lease,
  record,
  stop,
}: StepsOptions): Pick<JobContext, "step" | "waitUntil"> => {
  const { mode, options } = lease.job
  const used = new Set<string>()
  let running = 0
  let parked = 0
  /** The earliest time that the program waits for. */
  let until = Infinity

  const stopWhenParked = () => {
    if (running === 0 && parked > 0) stop(Exit.succeed(until === Infinity ? "parked" : { until }))
  }

  /** Suspends a step. Once no step runs, the job leaves this worker; a later attempt resumes it with this step. */
  const park = Effect.suspend(() => {
    parked++
    stopWhenParked()
    return Effect.never
  })

  const run = <A, I, E, R>(step: Step, schema: Schema.Codec<A, I>, effect: Effect.Effect<StepOutcome<A>, E, R>) =>
    // Uninterruptible after the call: its outcome is paid for, so it is stored even if the job is being interrupted.
    Effect.uninterruptibleMask(
      Effect.fnUntraced(
        function* (restore) {
          running++
          const startedAt = clock.currentTimeMillisUnsafe()
          const exit = yield* Effect.exit(restore(effect))
          if (Exit.isFailure(exit) && isUnrecorded(options, exit.cause)) return yield* Effect.failCause(exit.cause)
          const kept = keptOf(schema, exit)
          if (kept === undefined) return yield* unfit(stepName(step))
          const finishedAt = clock.currentTimeMillisUnsafe()
          const recorded = yield* Effect.exit(record({ step, ...kept, startedAt, finishedAt }))
          if (Exit.isSuccess(recorded) && recorded.value) {
            yield* stepFinished(mode, kept.outcome === null ? "failed" : "completed", finishedAt - startedAt)
            return yield* Exit.map(exit, ({ value }) => value)
          }
          stop(Exit.isSuccess(recorded) ? Exit.succeed("gone") : Exit.failCause(recorded.cause))
          return yield* restore(Effect.never)
        },
        Effect.ensuring(
          Effect.sync(() => {
            running--
            stopWhenParked()
          }),
        ),
      ),
    )

  const waitUntil = (time: number) =>
    Effect.suspend(() => {
      if (time <= clock.currentTimeMillisUnsafe()) return Effect.void
      until = Math.min(until, time)
      return park
    })

  const step = <A, I, E, R>(step: Step, schema: Schema.Codec<A, I>, effect: Effect.Effect<StepOutcome<A>, E, R>) =>
    Effect.suspend((): Effect.Effect<A, E, R> => {
      const name = stepName(step)
      if (used.has(name)) return Effect.die(new ModeMistake(`Step "${name}" was begun twice in one run of a job.`))
      used.add(name)
      const known = lease.finished.get(name)
      if (known !== undefined) {
        const replayed = Effect.catch(Schema.decodeEffect(jsonOf(schema))(known), () => unfit(name))
        return Effect.andThen(stepReplayed(mode), replayed)
      }
      const ran = spanned("job.step", { attributes: { "job.step": name } })(run(step, schema, effect))
      return Effect.flatMap(draining, (late) => (late || until !== Infinity ? park : ran))
    })

  return { step, waitUntil }
}

const failureOf = (cause: Cause.Cause<unknown>): JobFailure | undefined => {
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  return error instanceof JobFailure ? error : undefined
}

/** Whether a job with these options waits after this failure until its budgets have room again. */
export const waitsForBudget = ({ on_budget }: JobOptions, { problem, renewsAt }: JobFailure): boolean =>
  on_budget === "wait" && (problem.code === BUDGET_RESERVED || renewsAt !== undefined)

/** Whether a failed step is not stored: a job that waits for a budget may try its step thousands of times a day. */
const isUnrecorded = (options: JobOptions, cause: Cause.Cause<unknown>): boolean => {
  const failure = failureOf(cause)
  const waits = failure !== undefined && failure.call === undefined && waitsForBudget(options, failure)
  return waits || Cause.hasInterrupts(cause)
}

/** The stored part of a step's exit; `undefined` if its value does not fit the schema. */
const keptOf = <A, I, E>(schema: Schema.Codec<A, I>, exit: Exit.Exit<StepOutcome<A>, E>) => {
  if (Exit.isFailure(exit)) {
    const known = failureOf(exit.cause)
    return { outcome: null, call: known?.call ?? null, problem: known?.problem }
  }
  const { call = null, receipt, tool, value } = exit.value
  const encoded = Schema.encodeExit(schema)(value)
  if (Exit.isFailure(encoded)) return undefined
  return { outcome: JSON.stringify(encoded.value), call, ...withoutUndefined({ receipt, tool }) }
}

/** The message names the step only: a schema error quotes the outcome. */
const unfit = (name: string) => Effect.die(new ModeMistake(`The outcome of step "${name}" does not fit its schema.`))
