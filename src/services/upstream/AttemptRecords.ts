/** Records every call to a provider, for callers, metrics, spans and the log. */
import { Cause, Effect, Exit, Option } from "effect"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import type { AttemptOutcome } from "../../domain/upstream/failures.ts"
import type { Attempt, Served } from "../../domain/upstream/upstream.ts"
import type { ProviderCall } from "./Calls.ts"
import type { OutOfTime } from "./Deadline.ts"
import type { Faults } from "./Faults.ts"
import type { ProviderFailure } from "./Provider.ts"
import { isName } from "./TargetRegistry.ts"
import type { ModelTarget } from "./Targets.ts"

/** One recorded call. `model` is the label of its target's model. */
export interface Recorded {
  readonly attempt: Attempt
  readonly model: string
  readonly served: Served | undefined
  readonly failure: ProviderFailure | undefined
}

export const record = (
  { model, own, provider }: ModelTarget,
  label: string,
  { served, timeToFirstTokenMs }: ProviderCall<unknown>,
  exit: Exit.Exit<unknown, ProviderFailure | OutOfTime>,
  times: Pick<Attempt, "cause" | "startedAt" | "finishedAt">,
): Recorded => {
  const error = Exit.isSuccess(exit) ? undefined : Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  const failure = error?._tag === "ProviderFailure" ? error : undefined
  const attempt: Attempt = {
    provider: provider.id,
    model,
    servedModel: served !== undefined && isName(served.model) ? served.model : null,
    outcome: Exit.isSuccess(exit) ? "success" : outcomeOf(error),
    ...times,
    timeToFirstTokenMs,
    usage: failure?.usage ?? served?.usage ?? null,
    ...withoutUndefined({ ownKey: own === undefined ? undefined : true, receipt: served?.receipt }),
  }
  return { attempt, model: label, served, failure }
}

/** The outcome of a failed call for accounting. An interruption is `undefined`. */
const outcomeOf = (error: ProviderFailure | OutOfTime | undefined): AttemptOutcome => {
  if (error === undefined) return "interrupted"
  return error._tag === "OutOfTime" ? "timeout" : error.kind
}

/** Logs a failed call at a level above debug if it begins or changes a fault. */
export const logFailure = (
  faults: Faults,
  target: ModelTarget,
  { attempt: { cause, finishedAt, outcome, provider }, model }: Recorded,
  failure: ProviderFailure,
): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { annotations, level } = faults.failed(target, model, failure, finishedAt)
    return Effect.logWithLevel(level)("Provider call failed").pipe(
      Effect.annotateLogs({ provider, model, outcome, cause, ...annotations }),
    )
  })

/** Logs the faults of a provider's model that a successful call ends. */
export const logRecovery = (faults: Faults, target: ModelTarget, model: string, now: number): Effect.Effect<void> => {
  const { provider } = target
  const ended = faults.succeeded(target, model)
  if (ended.length === 0) return Effect.void
  return Effect.forEach(
    ended,
    ({ host, model, outcome, since }) =>
      Effect.logInfo("Provider works again").pipe(
        Effect.annotateLogs(
          withoutUndefined({ provider: provider.id, model, outcome, host, after_s: Math.round((now - since) / 1000) }),
        ),
      ),
    { discard: true },
  )
}
