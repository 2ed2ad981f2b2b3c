/** Handles one request under the fault policy: its targets in order, each with retries, within one time limit. */
import { Context, Duration, Effect, Tracer } from "effect"
import type { ApiName } from "../../domain/upstream/apis.ts"
import { failureRules } from "../../domain/upstream/failures.ts"
import type { Attempt, UpstreamError, UpstreamRequest } from "../../domain/upstream/upstream.ts"
import type { Timer } from "../Timer.ts"
import type { ConversationTurn } from "./Affinity.ts"
import { logFailure, logRecovery, record } from "./AttemptRecords.ts"
import { backoff } from "./Backoff.ts"
import type { Bulkhead } from "./Bulkhead.ts"
import type { AnswerForm, CallLimits, ProviderCall } from "./Calls.ts"
import type { CircuitPermit, Circuits } from "./Circuits.ts"
import { OutOfTime } from "./Deadline.ts"
import type { Faults } from "./Faults.ts"
import type { FirstTokenLimits } from "./FirstTokenLimits.ts"
import type { Provider, ProviderFailure } from "./Provider.ts"
import { endingSearch, errorOf, mayFit, outOfTime, type TargetFailure, targetFailureOf } from "./TargetFailures.ts"
import type { TargetRegistry } from "./TargetRegistry.ts"
import type { ModelTarget } from "./Targets.ts"
import { countAttempt, countSkip, whileInFlight } from "./UpstreamMetrics.ts"
import type { UpstreamSettings } from "./UpstreamSettings.ts"
import { annotateCall, withCallSpan } from "./UpstreamSpans.ts"

/** The result of a request, and every call that was made for it. */
export interface FailoverResult<A> {
  readonly value: A
  readonly attempts: ReadonlyArray<Attempt>
}

export interface PolicyParts {
  readonly registry: TargetRegistry
  readonly timer: Timer
  readonly faults: Faults
  readonly bulkheads: Pick<WeakMap<Provider, Bulkhead>, "get">
}

interface Handled {
  readonly settings: UpstreamSettings
  readonly circuits: Circuits
  readonly api: ApiName
  readonly turn: ConversationTurn
  readonly firstToken: FirstTokenLimits
  readonly onAttempt: UpstreamRequest["onAttempt"]
}

/**
 * The time limits of a call. A target's limit takes precedence over its provider's, and that over the common one, which
 * is the maximum for learned limits. The last target always gets the maximum, because none can take over. Circuits
 * of later targets are not read for that, because they may be in a shared store. A longer limit for the first output
 * also extends the limit for a whole answer.
 */
const limitsOf = (
  target: ModelTarget,
  { firstToken, settings: { timeouts } }: Pick<Handled, "firstToken" | "settings">,
  deadline: number,
  isLast: boolean,
): CallLimits => {
  const { firstTokenMs, provider } = target
  const own = firstTokenMs ?? (provider.firstToken && Duration.toMillis(provider.firstToken))
  const answer = Duration.toMillis(timeouts.answer)
  const most = Duration.toMillis(timeouts.firstToken)
  return {
    answer: own === undefined ? answer : Math.max(answer, own),
    firstToken: own ?? (isLast ? most : firstToken.limit(target, most)),
    thinking: own ?? most,
    idle: Duration.toMillis(timeouts.idle),
    deadline,
    isLast,
  }
}

export class RequestFailover<A> {
  readonly failures: Array<TargetFailure> = []
  private readonly attempts: Array<Attempt> = []
  private readonly parts: PolicyParts
  private readonly handled: Handled
  private readonly form: AnswerForm<A>
  /** A moment. */
  private readonly deadline: number
  private lastTarget: ModelTarget | undefined
  private lastCall: ProviderCall<A> | undefined

  constructor(parts: PolicyParts, handled: Handled, form: AnswerForm<A>) {
    this.parts = parts
    this.handled = handled
    this.form = form
    this.deadline = parts.timer.now() + Duration.toMillis(handled.settings.timeouts.total)
  }

  /** Tries the targets in order, beginning with index `at`. */
  tryTargets(at = 0): Effect.Effect<FailoverResult<A>, UpstreamError> {
    const { attempts, failures, form } = this
    const { api, circuits, turn } = this.handled
    const target = turn.targets[at]
    if (target === undefined) return errorOf(failures, attempts)
    if (!mayFit(target, failures)) return this.tryTargets(at + 1)
    const bulkhead = this.parts.bulkheads.get(target.provider)
    if (bulkhead === undefined) return Effect.die(new Error(`no bulkhead for ${target.provider.id}`))
    const isLast = turn.isSearch === true || !turn.targets.some((other, index) => index > at && mayFit(other, failures))
    const guarded = circuits.guard(this.parts.registry.called(target, api), api, (permit) =>
      bulkhead.enter(this.callWithRetries(target, permit, isLast), this.deadline),
    )
    return Effect.matchEffect(guarded, {
      onSuccess: (value) =>
        Effect.as(turn.answered(target, this.lastCall?.served, this.hasFailed), { value, attempts }),
      onFailure: (failure) => {
        if (failure._tag === "OutOfTime") return outOfTime(this.lastTarget, attempts)
        const failed = targetFailureOf(target, failure)
        const next = Effect.flatMap(this.mayGoOn(failed.failover && !isLast), (mayGoOn) => {
          const counted = mayGoOn ? failed : endingSearch(failed, form.hasOutput())
          failures.push(counted)
          const endsSearch =
            turn.isSearch === true && (failure._tag !== "ProviderFailure" || failure.kind !== "incapable")
          return this.tryTargets(counted.failover && !endsSearch ? at + 1 : turn.targets.length)
        })
        return failed.skipped === undefined ? next : Effect.andThen(countSkip(failed.provider, failed.skipped), next)
      },
    })
  }

  /** Whether the search may continue after a failure, and another call may be paid for. */
  private mayGoOn(callsAgain: boolean): Effect.Effect<boolean> {
    const isCommitted = this.form.isCommitted()
    return callsAgain && !isCommitted ? this.form.mayCallAgain : Effect.succeed(!isCommitted)
  }

  private readonly hasFailed = ({ provider }: ModelTarget): boolean =>
    this.failures.some((failed) => failed.provider === provider.id && failed.skipped === undefined)

  /** Calls a target and retries it as often as its failures allow. `retries` counts the retries so far. */
  private callWithRetries(
    target: ModelTarget,
    permit: CircuitPermit,
    isLast: boolean,
    retries = 0,
  ): Effect.Effect<A, ProviderFailure | OutOfTime> {
    const { retry } = this.handled.settings
    return Effect.catch(this.attempt(target, permit, isLast), (failure) => {
      if (failure._tag === "OutOfTime" || retries === retry.times || !this.mayRetry(permit, failure)) return failure
      const again = backoff(retry, retries, failure).pipe(
        Effect.flatMap((delay) => Effect.sleep(Math.min(delay, this.deadline - this.parts.timer.now()))),
        Effect.andThen(Effect.suspend(() => this.callWithRetries(target, permit, isLast, retries + 1))),
      )
      return Effect.flatMap(this.mayGoOn(true), (mayGoOn) => (mayGoOn ? again : failure))
    })
  }

  /** Whether to retry a target after a failure. A probe is tried once, so that its result is known soon. */
  private mayRetry(permit: CircuitPermit, { kind, retryAfterMs = 0 }: ProviderFailure): boolean {
    if (!failureRules[kind].retry || permit.isProbe()) return false
    if (retryAfterMs > Duration.toMillis(this.handled.settings.retry.maxRetryAfter)) return false
    return retryAfterMs === 0 || this.parts.timer.now() + retryAfterMs < this.deadline
  }

  private attempt(
    target: ModelTarget,
    { working }: CircuitPermit,
    isLast: boolean,
  ): Effect.Effect<A, ProviderFailure | OutOfTime> {
    const { timer, registry, faults } = this.parts
    const { firstToken, onAttempt } = this.handled
    return Effect.contextWith((context: Context.Context<never>): Effect.Effect<A, ProviderFailure | OutOfTime> => {
      const began = timer.now()
      if (began >= this.deadline) return new OutOfTime()
      const startedAt = timer.clock.currentTimeMillisUnsafe()
      const again = this.failures.length > 0 ? "failover" : "first"
      const cause: Attempt["cause"] = this.lastTarget === target ? "retry" : again
      const { id } = target.provider
      const model = registry.label(id, target.model)
      this.lastTarget = target
      return withCallSpan(Context.get(context, Tracer.Tracer), target.provider, model, cause, (span) => {
        const call = this.form.attempt(target, limitsOf(target, this.handled, this.deadline, isLast), timer, working)
        this.lastCall = call
        return whileInFlight(id, context, call.run, (exit) => {
          const finishedAt = startedAt + Math.round(timer.now() - began)
          const recorded = record(target, model, call, exit, { cause, startedAt, finishedAt })
          const { attempt, failure } = recorded
          this.attempts.push(attempt)
          onAttempt?.(attempt)
          firstToken.ended(attempt)
          countAttempt(attempt, model, context)
          if (span !== undefined) annotateCall(span, recorded)
          if (failure !== undefined) return logFailure(faults, target, recorded, failure)
          if (attempt.outcome !== "success") return Effect.void
          registry.succeeded(target, finishedAt)
          return logRecovery(faults, target, model, finishedAt)
        })
      })
    })
  }
}
