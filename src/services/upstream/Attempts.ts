/** Records every call to a provider: for callers, metrics, spans and the log. */
import { Cause, Clock, Effect, Exit, Option, PubSub, Stream } from "effect"
import { defined } from "../../domain/defined.ts"
import { type AttemptOutcome, ruleOf } from "../../domain/failures.ts"
import type { Attempt } from "../../domain/upstream.ts"
import type { Progress } from "./Calls.ts"
import type { OutOfTime } from "./Deadline.ts"
import type { ProviderFailure } from "./Provider.ts"
import { isName, type TargetRegistry } from "./TargetRegistry.ts"
import type { Target } from "./Targets.ts"
import { countAttempt } from "./UpstreamMetrics.ts"
import { annotateCall } from "./UpstreamSpans.ts"

/** How many attempts may wait for a slow subscriber before it loses the oldest. */
export const ATTEMPTS_KEPT = 1024

/** A call that has ended. */
interface Ended {
  readonly target: Target
  readonly cause: Attempt["cause"]
  readonly startedAt: number
  readonly progress: Progress
  readonly exit: Exit.Exit<unknown, ProviderFailure | OutOfTime>
}

export const makeAttempts = Effect.fnUntraced(function* (book: TargetRegistry) {
  const ended = yield* PubSub.sliding<Attempt>(ATTEMPTS_KEPT)

  /** Records a call. `told` is called first, so that no subscriber knows more than the caller. */
  const settle = Effect.fnUntraced(function* (call: Ended, told: (attempt: Attempt) => void) {
    const { cause, exit, progress, startedAt, target } = call
    const finishedAt = yield* Clock.currentTimeMillis
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
      ...defined({ receipt: served?.receipt }),
    }
    told(attempt)
    if (attempt.outcome === "success") book.succeeded(target, finishedAt)
    const model = book.label(target.provider.id, target.model)
    yield* PubSub.publish(ended, attempt)
    countAttempt(attempt, model, yield* Effect.context())
    yield* annotateCall(attempt, model, served)
    if (failure !== undefined) yield* logFailure(attempt, model)
  })

  return { settle, ended: Stream.fromPubSub(ended) }
})

/** The end of a call that failed, as accounting names it; `undefined` is an interruption. */
const outcomeOf = (error: ProviderFailure | OutOfTime | undefined): AttemptOutcome => {
  if (error === undefined) return "interrupted"
  return error._tag === "OutOfTime" ? "timeout" : error.kind
}

const logFailure = ({ cause, outcome, provider }: Attempt, model: string): Effect.Effect<void> =>
  Effect.logWithLevel(ruleOf(outcome)?.operator ? "Warn" : "Debug")("Provider call failed").pipe(
    Effect.annotateLogs({ provider, model, outcome, cause }),
  )
