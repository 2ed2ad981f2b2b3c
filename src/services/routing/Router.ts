/**
 * Decides who answers, has the upstream try the targets in that order, and enters every call in the ledger before it
 * returns the answer.
 */
import { Cause, Clock, Context, Duration, Effect, Layer, Option, Schedule } from "effect"
import type { Mode } from "../../domain/jobs/modes.ts"
import type { KeptReceipt } from "../../domain/protocol/keptReceipt.ts"
import type { StepCall } from "../../domain/jobs/job.ts"
import type { RoutingSettings, Target } from "../../domain/routing/routing.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import { sameTarget, type TargetName } from "../../domain/upstream/targets.ts"
import type { Attempt, UpstreamError } from "../../domain/upstream/upstream.ts"
import { annotatedFirst, spanned } from "../spans.ts"
import { retryAfterFailure } from "../storedRows.ts"
import { Upstream } from "../upstream/Upstream.ts"
import { type Account, type ChargedAttempt, recordsOf, stepCallOf } from "./Accounting.ts"
import { Spending, UNLIMITED } from "./Allowance.ts"
import { type Answer, AnswerDraft } from "./AnswerDraft.ts"
import { type Dialect, Dialects, inDialect, LEARNED_FOR, limitMembers, namedIn, nameOf } from "./Dialects.ts"
import { FirstTokenTimes } from "./FirstTokenTimes.ts"
import { Ledger } from "./Ledger.ts"
import { priceOf } from "./Prices.ts"
import { RoutingConfig } from "./RoutingConfig.ts"
import { CallFailed, type RouterError } from "./RoutingErrors.ts"
import { countRecords } from "./RoutingMetrics.ts"
import { chooseTargets, leastRelatedFirst, type TargetRequirements } from "./TargetChoice.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"

/** `policy` is the agent's, `allowance` what is left of a job's limits. A `model` in `completion` is ignored; a target that
 * refuses its `response_format`, or the output limit that it is sent, is asked otherwise, and that is remembered for a while. */
export interface RouterRequest extends TargetRequirements {
  readonly tenant: string
  readonly job?: string | undefined
  readonly agent?: string | undefined
  readonly mode?: Mode | undefined
  /** Whose answers are to be judged: targets that have least in common with them come first. */
  readonly independentOf?: ReadonlyArray<TargetName> | undefined
  /** How often the answer was escalated so far: a cascade leaves out that many of its cheapest targets. */
  readonly tier?: number | undefined
  /** Told who is asked first, before they are. */
  readonly onChosen?: ((target: TargetName) => Effect.Effect<void>) | undefined
  /** Made because of the routing itself: what it costs counts, and there is no baseline for it. */
  readonly extra?: boolean | undefined
}

export interface Routed extends Answer {
  /** The target that served, as it is configured. */
  readonly target: TargetName
  /** Whether it differs in provider or model from each of `independentOf`. */
  readonly independent: boolean
  /** What it took, failed calls included; its `model` is the one that answered. */
  readonly call: StepCall
  /** What a sealed proxy signed of the answer, if one gave it. */
  readonly receipt?: KeptReceipt | undefined
  /** The threshold of a cascade that has a dearer target left to escalate to, else `null`. */
  readonly escalateBelow: number | null
}

export class Router extends Context.Service<
  Router,
  { readonly call: (request: RouterRequest) => Effect.Effect<Routed, RouterError> }
>()("sealgate/services/routing/Router") {
  static readonly layer = Layer.effect(
    Router,
    Effect.gen(function* () {
      const config = yield* RoutingConfig
      const ledger = yield* Ledger
      const upstream = yield* Upstream
      const clock = yield* Clock.Clock
      const times = new FirstTokenTimes()
      const dialects = new Dialects()

      const noteDialect = (target: TargetName, dialect: Dialect | undefined) =>
        Effect.suspend(() => {
          if (dialect === undefined) return Effect.void
          dialects.learn(target, dialect, clock.currentTimeMillisUnsafe())
          const { form, limit, longest } = dialect
          return Effect.logWarning("A model refused members of a request and is asked otherwise for a while").pipe(
            Effect.annotateLogs({
              provider: target.provider,
              model: target.model,
              response_format: form ? "sent" : "left out",
              limit: longest < Infinity ? `${limit} up to ${longest}` : limit,
              forMs: Duration.toMillis(LEARNED_FOR),
            }),
          )
        })

      /** Enters the calls of a request wherever they count. */
      const account = (settings: RoutingSettings, request: RouterRequest, attempts: ReadonlyArray<ChargedAttempt>) => {
        for (const attempt of attempts) noteFirstToken(times, attempt)
        const records = recordsOf(settings, accountOf(request), attempts)
        return Effect.contextWith((context: Context.Context<never>) =>
          Effect.map(retryAfterFailure(ledger.record(records), WRITE_AGAIN), () => {
            countRecords(records, context)
            return stepCallOf(records)
          }),
        )
      }

      /** Asks those who were chosen, from the first on, and enters what that took. */
      const ask = (
        settings: RoutingSettings,
        request: RouterRequest,
        targets: ReadonlyArray<Target>,
        escalateBelow: number | null,
        spending: Spending,
        dialect: Dialect,
      ): Effect.Effect<Routed, CallFailed | StorageUnavailable> => {
        const attempts: Array<ChargedAttempt> = []
        const draft = new AnswerDraft()
        let charged = 0
        const isLimited = request.allowance !== undefined
        const told = upstream.streamTo(
          {
            completion: inDialect(request.completion, dialect),
            targets: targets.map((target) => ({
              ...target,
              contextTokens: target.max_context_tokens,
              firstTokenMs: target.first_token_ms,
            })),
            ...(isLimited && {
              mayCallAgain: () => spending.mayCall(targets),
              outputLimit: (target) => limitMembers(dialect, spending.limitOf(targets, target)),
            }),
            onAttempt: (attempt) => {
              attempts.push({ ...attempt, charged: spending.charge(attempt, draft.received - charged) })
              charged = draft.received
            },
          },
          draft.add,
        )
        const entered = Effect.suspend(() => account(settings, request, attempts))
        const others = request.independentOf ?? []
        // Uninterruptible from the end of the last call until the calls are in the ledger: a job that is cancelled has
        // spent what it has spent. If that fails after an interruption, it is in the log, and nobody is left to tell.
        return Effect.uninterruptibleMask((restore) =>
          Effect.matchCauseEffect(restore(told), {
            onFailure: (cause): Effect.Effect<never, CallFailed | StorageUnavailable> => {
              const failed = Effect.failCause(Cause.map(cause, (error) => new CallFailed({ error })))
              if (Cause.hasInterrupts(cause)) return Effect.andThen(Effect.ignore(entered), failed)
              const error = Option.getOrUndefined(Cause.findErrorOption(cause))
              if (error === undefined) return failed
              return Effect.flatMap(entered, (call) => new CallFailed({ error, ...withoutUndefined({ call }) }))
            },
            onSuccess: (finished) =>
              Effect.flatMap(entered, (call): Effect.Effect<Routed> => {
                const served = attempts.at(-1)
                if (served === undefined || call === undefined) {
                  return Effect.die(new Error("The upstream answered without having called anybody."))
                }
                return Effect.succeed({
                  ...draft.finished(finished),
                  target: { provider: served.provider, model: served.model },
                  independent: !others.some((other) => sameTarget(other, served)),
                  call,
                  receipt: served.receipt,
                  escalateBelow,
                })
              }),
          }),
        )
      }

      /** Asks these targets, those that fit in their order, and leaves out of the request what they refuse. */
      const askFitting = (settings: RoutingSettings, request: RouterRequest, fitting: ReadonlyArray<Target>) => {
        const last = fitting.length - 1
        const isCascade = settings.strategy === "cascade"
        const tier = isCascade ? Math.min(request.tier ?? 0, last) : 0
        const targets = leastRelatedFirst(fitting.slice(tier), request.independentOf ?? [])
        const escalateBelow = isCascade && tier < last ? (settings.cascade?.escalate_below ?? null) : null
        const [first] = targets
        const { allowance, completion, onChosen } = request
        const answered = Effect.suspend(() => {
          const now = clock.currentTimeMillisUnsafe()
          const pricesOf = (target: TargetName, served?: string | null) =>
            priceOf(settings, target, now, served)?.prices ?? null
          const spending = new Spending(allowance ?? UNLIMITED, completion, pricesOf)
          const asking = (dialect: Dialect) => ask(settings, request, targets, escalateBelow, spending, dialect)
          const known = dialects.of(first, now)
          const refusals: Array<UpstreamError> = []
          const limit = first === undefined ? undefined : spending.limitOf(targets, first)
          const others = dialects.others(known, completion.response_format !== undefined, limit)
          return others.reduce(
            (tried, dialect) =>
              Effect.catchTag(tried, "CallFailed", (failed) => {
                const refused = (failed.error.attempts ?? []).filter(({ outcome }) => REFUSED.has(outcome)).map(nameOf)
                refusals.push(failed.error)
                if (refused.length === 0 || !spending.mayCall(targets)) return Effect.fail(failed)
                return Effect.tap(asking(dialect), ({ target }) =>
                  refused.includes(nameOf(target))
                    ? noteDialect(target, namedIn(refusals, known, dialect))
                    : Effect.void,
                )
              }),
            asking(known),
          )
        })
        const told =
          onChosen === undefined || first === undefined ? answered : Effect.andThen(onChosen(first), answered)
        return annotatedFirst(told, () => ({
          strategy: settings.strategy,
          role: request.role,
          targets: targets.length,
        }))
      }

      const call = (request: RouterRequest): Effect.Effect<Routed, RouterError> =>
        Effect.flatMap(config.current, (settings) =>
          Effect.flatMap(
            chooseTargets(settings, request, { upstream, times, now: clock.currentTimeMillisUnsafe() }),
            (fitting) => askFitting(settings, request, fitting),
          ),
        ).pipe(spanned("Router.call"))

      return Router.of({ call })
    }),
  )
}

/** How a target refuses a request for a reason that may be its `response_format` or its output limit. */
const REFUSED: ReadonlySet<Attempt["outcome"]> = new Set(["invalid-request", "unsupported"])

/** A call that is paid for is worth some patience with the database: without its row the job would pay for it again. */
const WRITE_AGAIN = Schedule.exponential("50 millis").pipe(Schedule.upTo({ duration: "5 seconds" }))

const accountOf = ({ agent, extra, job, mode, role, tenant }: RouterRequest): Account => ({
  tenant,
  role,
  job: job ?? null,
  agent: agent ?? null,
  mode: mode ?? null,
  extra: extra ?? false,
})

/** A call that failed before any output counts as one that never began to answer; an abandoned one says nothing. */
const noteFirstToken = (times: FirstTokenTimes, attempt: Attempt): void => {
  const failed = attempt.outcome !== "success" && attempt.outcome !== "interrupted"
  const ms = attempt.timeToFirstTokenMs ?? (failed ? Infinity : undefined)
  if (ms !== undefined) times.add(attempt, ms, attempt.finishedAt)
}
