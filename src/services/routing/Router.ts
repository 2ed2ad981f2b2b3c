/** Chooses the targets of a request, calls them in that order, and learns how they want to be asked. */
import { Clock, Context, Duration, Effect, Layer } from "effect"
import type { Budgeted } from "../../domain/access/budgets.ts"
import { MAX_SUM } from "../../domain/routing/money.ts"
import type { RoutingSettings, Target } from "../../domain/routing/routing.ts"
import type { TargetName } from "../../domain/upstream/targets.ts"
import type { Attempt, UpstreamError } from "../../domain/upstream/upstream.ts"
import { TenantBudgets } from "../access/TenantBudgets.ts"
import { momentOf } from "../moments.ts"
import { annotatedFirst, spanned } from "../spans.ts"
import { Upstream } from "../upstream/Upstream.ts"
import { Spending, UNLIMITED, worstCase } from "./Allowance.ts"
import { Budgets } from "./Budgets.ts"
import { accountOf, makeCallTargets, type Routed, type RouterRequest } from "./callTargets.ts"
import { type Dialect, Dialects, LEARNED_FOR, namedIn, nameOf } from "./Dialects.ts"
import { FirstTokenTimes } from "./FirstTokenTimes.ts"
import { priceOf } from "./Prices.ts"
import { RoutingConfig } from "./RoutingConfig.ts"
import type { RouterError } from "./RoutingErrors.ts"
import { chooseTargets, leastRelatedFirst } from "./TargetChoice.ts"

export class Router extends Context.Service<
  Router,
  { readonly call: (request: RouterRequest) => Effect.Effect<Routed, RouterError> }
>()("sealgate/services/routing/Router") {
  static readonly layer = Layer.effect(
    Router,
    Effect.gen(function* () {
      const config = yield* RoutingConfig
      const upstream = yield* Upstream
      const clock = yield* Clock.Clock
      const budgets = yield* Budgets
      const tenantBudgets = yield* TenantBudgets
      const times = new FirstTokenTimes()
      const dialects = new Dialects()

      const noteDialect = makeNoteDialect(dialects, clock)
      const callTargets = yield* makeCallTargets(times)

      /** Calls the fitting targets in their order, and retries without the members that they refuse. */
      const callFitting = (
        settings: RoutingSettings,
        request: RouterRequest,
        fitting: ReadonlyArray<Target>,
        onSpending: (spending: Spending) => void = () => {},
      ) => {
        const { allowance, completion, onChosen } = request
        const { escalateBelow, targets } = tierOf(settings, request, fitting)
        const [first] = targets
        const answered = Effect.suspend(() => {
          const now = clock.currentTimeMillisUnsafe()
          const pricesOf = (target: TargetName, served?: string | null) =>
            priceOf(settings, target, now, served)?.prices ?? null
          const spending = new Spending(allowance ?? UNLIMITED, completion, pricesOf, isBudgeted(request.budgeted))
          onSpending(spending)
          const route = { settings, request, targets, escalateBelow, spending }
          const known = dialects.of(first, momentOf(clock))
          const refusals: Array<UpstreamError> = []
          const limit = first === undefined ? undefined : spending.limitOf(targets, first)
          const others = dialects.others(known, completion.response_format !== undefined, limit)
          return others.reduce(
            (tried, dialect) =>
              Effect.catchTag(tried, "CallFailed", (failed) => {
                const refused = (failed.error.attempts ?? []).filter(({ outcome }) => REFUSED.has(outcome)).map(nameOf)
                refusals.push(failed.error)
                if (refused.length === 0 || !spending.mayCall(targets)) return Effect.fail(failed)
                return Effect.tap(callTargets(route, dialect), ({ target }) =>
                  refused.includes(nameOf(target))
                    ? noteDialect(target, namedIn(refusals, known, dialect))
                    : Effect.void,
                )
              }),
            callTargets(route, known),
          )
        })
        const announced =
          onChosen === undefined || first === undefined ? answered : Effect.andThen(onChosen(first), answered)
        return annotatedFirst(announced, () => ({
          strategy: settings.strategy,
          role: request.role,
          targets: targets.length,
        }))
      }

      const callBudgeted = makeCallBudgeted(budgets, clock, callFitting)

      const callInTenant = (request: RouterRequest): Effect.Effect<Routed, RouterError> =>
        Effect.flatMap(config.current, (settings) => {
          const { budgeted } = request
          const { calls, cost, tokens } = request.allowance ?? UNLIMITED
          // A finite cost excludes targets without a price.
          const allowance = { calls, tokens, cost: hasMoney(budgeted) ? Math.min(cost, MAX_SUM) : cost }
          const conditions = { upstream, times, now: clock.currentTimeMillisUnsafe() }
          return Effect.flatMap(chooseTargets(settings, { ...request, allowance }, conditions), (fitting) =>
            isBudgeted(budgeted)
              ? callBudgeted(settings, request, fitting, budgeted)
              : callFitting(settings, request, fitting),
          )
        })

      const call = (request: RouterRequest): Effect.Effect<Routed, RouterError> =>
        Effect.flatMap(tenantBudgets.ofCall(request.tenant), (ofTenant) =>
          callInTenant({ ...request, budgeted: [...ofTenant, ...(request.budgeted ?? [])] }),
        ).pipe(spanned("Router.call"))

      return Router.of({ call })
    }),
  ).pipe(Layer.provide([Budgets.layer, TenantBudgets.layer]))
}

type CallFitting = (
  settings: RoutingSettings,
  request: RouterRequest,
  fitting: ReadonlyArray<Target>,
  onSpending?: (spending: Spending) => void,
) => Effect.Effect<Routed, RouterError>

/** Returns what remembers and logs the members of a request that a target refuses. */
const makeNoteDialect =
  (dialects: Dialects, clock: Clock.Clock) => (target: TargetName, dialect: Dialect | undefined) =>
    Effect.suspend(() => {
      if (dialect === undefined) return Effect.void
      dialects.learn(target, dialect, momentOf(clock))
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

/** Returns a call within the budgets of its tenant, agent and key. */
const makeCallBudgeted =
  (budgets: Budgets["Service"], clock: Clock.Clock, callFitting: CallFitting) =>
  (
    settings: RoutingSettings,
    request: RouterRequest,
    fitting: ReadonlyArray<Target>,
    budgeted: ReadonlyArray<Budgeted>,
  ) => {
    const now = clock.currentTimeMillisUnsafe()
    const worst = worstCase(request.completion, fitting, (target) => priceOf(settings, target, now)?.prices ?? null)
    const { calls, cost, tokens } = request.allowance ?? UNLIMITED
    const allowance = {
      calls,
      tokens: Math.min(tokens, worst.tokens),
      cost: hasMoney(budgeted) ? Math.min(cost, worst.cost) : cost,
    }
    let spending: Spending | undefined
    const answered = callFitting(settings, { ...request, allowance }, fitting, (made) => (spending = made))
    const [target] = fitting
    if (target === undefined) return answered
    const { model, provider } = target
    const asked = { account: accountOf(request), strategy: settings.strategy, target: { provider, model } }
    return budgets.within({ budgeted, worst, asked }, answered, () => spending?.charged ?? { cost: 0, tokens: 0 })
  }

const isBudgeted = (budgeted: ReadonlyArray<Budgeted> | undefined): budgeted is ReadonlyArray<Budgeted> =>
  budgeted !== undefined && budgeted.length > 0

const hasMoney = (budgeted: ReadonlyArray<Budgeted> | undefined): boolean =>
  budgeted?.some(({ budgets }) => budgets.some((budget) => budget.max_cost_micro_usd !== undefined)) ?? false

/** Outcomes whose cause may be the `response_format` or the output limit. */
const REFUSED: ReadonlySet<Attempt["outcome"]> = new Set(["invalid-request", "unsupported"])

/** The targets of a cascade's tier, the least related to `independentOf` first. */
const tierOf = (settings: RoutingSettings, request: RouterRequest, fitting: ReadonlyArray<Target>) => {
  const last = fitting.length - 1
  const isCascade = settings.strategy === "cascade"
  const tier = isCascade ? Math.min(request.tier ?? 0, last) : 0
  return {
    targets: leastRelatedFirst(fitting.slice(tier), request.independentOf ?? []),
    escalateBelow: isCascade && tier < last ? (settings.cascade?.escalate_below ?? null) : null,
  }
}
