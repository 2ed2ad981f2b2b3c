/** Records every call to a provider: for callers, metrics, spans and the log. */
import { Cause, Clock, Effect, Exit, Option, PubSub, Stream } from "effect"
import { defined } from "../../domain/defined.ts"
import { type AttemptOutcome, ruleOf } from "../../domain/failures.ts"
import type { Attempt } from "../../domain/upstream.ts"
import type { Progress } from "./Calls.ts"
import type { ProviderFailure } from "./Provider.ts"
import { isName, type TargetRegistry } from "./TargetRegistry.ts"
import type { Target } from "./Targets.ts"
import { countAttempt } from "./UpstreamMetrics.ts"
import { annotateCall } from "./UpstreamSpans.ts"

/** How many attempts may wait for a slow subscriber before it loses the oldest. */
export const ATTEMPTS_KEPT = 1024

/** A call that has ended. */
export interface Ended {
  readonly target: Target
  readonly cause: Attempt["cause"]
  readonly startedAt: number
  readonly progress: Progress
  readonly exit: Exit.Exit<unknown, ProviderFailure>
  /** Whether the time limit of its request cut it off. */
  readonly expired: boolean
}

export const makeAttempts = Effect.fnUntraced(function* (book: TargetRegistry) {
  const ended = yield* PubSub.sliding<Attempt>(ATTEMPTS_KEPT)

  /** Records a call. `told` is called first, so that no subscriber knows more than the caller. */
  const settle = Effect.fnUntraced(function* (call: Ended, told: (attempt: Attempt) => void) {
    const { cause, exit, expired, progress, startedAt, target } = call
    const finishedAt = yield* Clock.currentTimeMillis
    const failure = Exit.isSuccess(exit) ? undefined : Option.getOrUndefined(Cause.findErrorOption(exit.cause))
    const served = progress.served()
    const attempt: Attempt = {
      provider: target.provider.id,
      model: target.model,
      servedModel: served !== undefined && isName(served.model) ? served.model : null,
      cause,
      outcome: outcomeOf(exit, failure, expired),
      startedAt,
      finishedAt,
      timeToFirstTokenMs: progress.firstOutputAt === undefined ? null : progress.firstOutputAt - startedAt,
      usage: failure?.usage ?? served?.usage ?? null,
      ...defined({ receipt: served?.receipt }),
    }
    told(attempt)
    if (attempt.outcome === "success") book.succeeded(target, finishedAt)
    const model = book.label(target.provider.id, target.model)
    yield* PubSub.publish(ended, attempt)
    yield* countAttempt(attempt, model)
    yield* annotateCall(attempt, model, served)
    if (failure !== undefined) yield* logFailure(attempt, model)
  })

  return { settle, ended: Stream.fromPubSub(ended) }
})

/** The end of a call as accounting names it. */
const outcomeOf = (
  exit: Exit.Exit<unknown, ProviderFailure>,
  failure: ProviderFailure | undefined,
  expired: boolean,
): AttemptOutcome => {
  if (Exit.isSuccess(exit)) return "success"
  return failure?.kind ?? (expired ? "timeout" : "interrupted")
}

const logFailure = ({ cause, outcome, provider }: Attempt, model: string): Effect.Effect<void> =>
  Effect.logWithLevel(ruleOf(outcome)?.operator ? "Warn" : "Debug")("Provider call failed").pipe(
    Effect.annotateLogs({ provider, model, outcome, cause }),
  )
