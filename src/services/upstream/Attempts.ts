/** Records every call to a provider, for callers, metrics, spans and the log. */
import { Cause, Effect, Exit, Option } from "effect"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import type { AttemptOutcome } from "../../domain/upstream/failures.ts"
import type { Attempt, Served } from "../../domain/upstream/upstream.ts"
import type { Progress } from "./Calls.ts"
import type { OutOfTime } from "./Deadline.ts"
import type { Faults } from "./Faults.ts"
import type { ProviderFailure } from "./Provider.ts"
import { isName, type TargetRegistry } from "./TargetRegistry.ts"
import type { Target } from "./Targets.ts"

/** A call that has ended. */
interface Ended {
  readonly target: Target
  readonly cause: Attempt["cause"]
  readonly startedAt: number
  readonly progress: Progress
  readonly exit: Exit.Exit<unknown, ProviderFailure | OutOfTime>
}

/** One recorded call. `model` is the label of its target's model. */
export interface Recorded {
  readonly attempt: Attempt
  readonly model: string
  readonly served: Served | undefined
  readonly failure: ProviderFailure | undefined
}

/** Records a call that ended at `finishedAt`, in milliseconds since the epoch. */
export const record = (book: TargetRegistry, call: Ended, finishedAt: number): Recorded => {
  const { cause, exit, progress, startedAt, target } = call
  const error = Exit.isSuccess(exit) ? undefined : Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  const failure = error?._tag === "ProviderFailure" ? error : undefined
  const served = progress.served()
  const attempt: Attempt = {
    provider: target.provider.id,
    model: target.model,
    servedModel: served !== undefined && isName(served.model) ? served.model : null,
    cause,
    outcome: Exit.isSuccess(exit) ? "success" : outcomeOf(error),
    startedAt,
    finishedAt,
    timeToFirstTokenMs: progress.firstOutputAt === undefined ? null : progress.firstOutputAt - startedAt,
    usage: failure?.usage ?? served?.usage ?? null,
    ...withoutUndefined({ receipt: served?.receipt }),
  }
  if (attempt.outcome === "success") book.succeeded(target, finishedAt)
  return { attempt, model: book.label(target.provider.id, target.model), served, failure }
}

/** The outcome of a failed call, as accounting names it. `undefined` is an interruption. */
const outcomeOf = (error: ProviderFailure | OutOfTime | undefined): AttemptOutcome => {
  if (error === undefined) return "interrupted"
  return error._tag === "OutOfTime" ? "timeout" : error.kind
}

/** Logs a failed call, once per fault of a model so that the log is not flooded. */
export const logFailure = (
  faults: Faults,
  target: Target,
  { attempt: { cause, finishedAt, outcome, provider }, model }: Recorded,
  failure: ProviderFailure,
): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { annotations, level } = faults.failed(target, model, failure, finishedAt)
    return Effect.logWithLevel(level)("Provider call failed").pipe(
      Effect.annotateLogs({ provider, model, outcome, cause, ...annotations }),
    )
  })
