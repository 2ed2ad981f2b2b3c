/** Routes requests: chooses the targets, reserves within budgets, and asks them in order, also in other dialects. */
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { type Budgeted, RequestUnbounded } from "../../domain/access/budgets.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import { MAX_SUM } from "../../domain/routing/money.ts"
import type { RoutingSettings, Target } from "../../domain/routing/routing.ts"
import { CHAT_COMPLETIONS } from "../../domain/upstream/apis.ts"
import { nameOf, sameTarget, type TargetName } from "../../domain/upstream/targets.ts"
import type { Attempt, Emit, UpstreamError } from "../../domain/upstream/upstream.ts"
import { ProviderKeys } from "../access/Secrets.ts"
import { TenantBudgets } from "../access/TenantBudgets.ts"
import { momentOf } from "../moments.ts"
import { spanned } from "../spans.ts"
import { Upstream } from "../upstream/Upstream.ts"
import { accountOf, makeCallAndRecord, mayCallAgain, type RequestRoute, type RoutedRequest } from "./callAndRecord.ts"
import { Spending, UNLIMITED, worstCase } from "./Spending.ts"
import { apiSize } from "./apiSize.ts"
import { type ApiAnswered, type ApiCall, makeAskApi, mayAddLimit } from "./askApi.ts"
import { Budgets } from "../budgets/Budgets.ts"
import type { Amount } from "../budgets/limits.ts"
import { makeAskChat, type Routed, type RouterRequest } from "./askChat.ts"
import { type Dialect, Dialects, LEARNED_FOR, limitMember, namedIn } from "./Dialects.ts"
import { unboundedMembers, otherModels } from "./unboundedMembers.ts"
import { FirstTokenTimes } from "./FirstTokenTimes.ts"
import { priceOf } from "./Prices.ts"
import { RoutingConfig } from "./RoutingConfig.ts"
import type { CallFailed, RouterError } from "./RoutingErrors.ts"
import { chooseTargets, leastRelatedFirst } from "./TargetChoice.ts"
import { chatSize } from "./TokenEstimate.ts"

export class Router extends Context.Service<
  Router,
  {
    /** Asks for an answer to a chat, for a step of a job. */
    readonly call: (request: RouterRequest) => Effect.Effect<Routed, RouterError>
    /** Asks for a whole answer to a client's request. */
    readonly answer: (call: ApiCall) => Effect.Effect<ApiAnswered, RouterError | RequestUnbounded>
    /** The same, streamed. */
    readonly stream: (
      call: ApiCall,
      emit: Emit<JsonObject>,
    ) => Effect.Effect<ApiAnswered, RouterError | RequestUnbounded>
  }
>()("sealgate/services/routing/Router") {
  static readonly layer = Layer.effect(
    Router,
    Effect.gen(function* () {
      const times = new FirstTokenTimes()
      const route = yield* makeRoute(times)
      const callAndRecord = yield* makeCallAndRecord(times)
      const askChat = yield* makeAskChat(callAndRecord)
      const askApi = yield* makeAskApi(callAndRecord)
      const tenantBudgets = yield* TenantBudgets
      const keysOf = yield* ProviderKeys

      const inTenant = <R extends Pick<RoutedRequest, "budgeted" | "tenant">>(request: R) =>
        Effect.zipWith(tenantBudgets.ofCall(request.tenant), keysOf(request.tenant), (ofTenant, own) => ({
          ...request,
          own,
          budgeted: [...ofTenant, ...(request.budgeted ?? [])],
        }))

      const ask = (call: ApiCall, emit?: Emit<JsonObject>) =>
        Effect.flatMap(
          inTenant(call),
          ({ request, ...call }): Effect.Effect<ApiAnswered, RouterError | RequestUnbounded> => {
            const { api, model } = request
            const errors = [
              ...(call.keyPolicy === undefined ? [] : otherModels(request)),
              ...(isBudgeted(call.budgeted) ? unboundedMembers(request) : []),
            ]
            if (errors.length > 0) return Effect.fail(new RequestUnbounded({ errors }))
            return route(
              { ...call, api, model, size: apiSize(request) },
              {
                ask: (route, dialect) => askApi(route, request, dialect, emit),
                hasForm: false,
                addsLimit: mayAddLimit(request),
              },
            )
          },
        )

      return Router.of({
        call: ({ authors, completion, heard, ...request }) =>
          Effect.flatMap(inTenant(request), (request) =>
            route(
              { ...request, api: CHAT_COMPLETIONS, size: chatSize(completion) },
              {
                ask: (route, dialect) => askChat(route, { authors, completion, heard }, dialect),
                hasForm: completion.response_format !== undefined,
                addsLimit: true,
              },
            ),
          ).pipe(spanned("Router.call")),
        answer: (call) => ask(call).pipe(spanned("Router.answer")),
        stream: (call, emit) => ask(call, emit).pipe(spanned("Router.stream")),
      })
    }),
  ).pipe(Layer.provide([Budgets.layer, TenantBudgets.layer]))
}

/** A request in the form in which targets are asked. */
interface RoutedQuestion<A> {
  readonly ask: (route: RequestRoute, dialect: Dialect) => Effect.Effect<A, CallFailed | StorageUnavailable>
  /** Whether it has a `response_format` that may be left out. */
  readonly hasForm: boolean
  /** Whether the router sets the member that limits its output. */
  readonly addsLimit: boolean
}

/** Returns a function that chooses the targets of a request, and asks them within its budgets. */
const makeRoute = Effect.fnUntraced(function* (times: FirstTokenTimes) {
  const config = yield* RoutingConfig
  const upstream = yield* Upstream
  const clock = yield* Clock.Clock
  const callBudgeted = makeCallBudgeted(yield* Budgets, clock)
  const callFitting = makeCallFitting(clock)

  return <A extends { readonly target: TargetName }>(
    request: RoutedRequest,
    question: RoutedQuestion<A>,
  ): Effect.Effect<A, RouterError> =>
    Effect.flatMap(config.ofCall, (settings) => {
      const { budgeted } = request
      const { calls, cost, tokens } = request.allowance ?? UNLIMITED
      // A finite cost excludes targets without a price.
      const allowance = { calls, tokens, cost: hasMoney(budgeted) ? Math.min(cost, MAX_SUM) : cost }
      const conditions = { upstream, times, now: clock.currentTimeMillisUnsafe() }
      return Effect.flatMap(chooseTargets(settings, { ...request, allowance }, conditions), (fitting) =>
        isBudgeted(budgeted)
          ? callBudgeted({ settings, request, fitting }, budgeted, (fitted, onSpending) =>
              callFitting(fitted, question, onSpending),
            )
          : callFitting({ settings, request, fitting }, question),
      )
    })
})

interface Fitted {
  readonly settings: RoutingSettings
  readonly request: RoutedRequest
  readonly fitting: ReadonlyArray<Target>
  /** The worst case of a call, to be reserved; absent without budgets. */
  readonly worst?: Amount
}

/** Returns a function that calls the fitting targets in their order, and retries without the members that they refuse. */
const makeCallFitting = (clock: Clock.Clock) => {
  const dialects = new Dialects()
  const noteDialect = makeNoteDialect(dialects, clock)

  return <A extends { readonly target: TargetName }>(
    { fitting, request, settings, worst }: Fitted,
    { addsLimit, ask, hasForm }: RoutedQuestion<A>,
    onSpending: (spending: Spending) => void = () => {},
  ): Effect.Effect<A, CallFailed | StorageUnavailable> => {
    const { allowance, onChosen, size } = request
    const { escalateBelow, targets } = tierOf(settings, request, fitting)
    const [first] = targets
    const answered = Effect.suspend(() => {
      const now = clock.currentTimeMillisUnsafe()
      const pricesOf = (target: TargetName, served?: string | null) =>
        priceOf(settings, target, now, served)?.prices ?? null
      const spending = new Spending(allowance ?? UNLIMITED, size, pricesOf, worst)
      onSpending(spending)
      const route = { settings, request, targets, escalateBelow, spending, records: [] }
      const known = dialects.of(first, momentOf(clock))
      const refusals: Array<UpstreamError> = []
      const limit = first === undefined || !addsLimit ? undefined : spending.limitOf(targets, first)
      return dialects.others(known, hasForm, limit).reduce(
        (tried, dialect) =>
          Effect.catchTag(tried, "CallFailed", (failed) => {
            // Some servers refuse an output limit that exceeds the context with the prompt.
            const isOnlyShorter = dialect.form === known.form && dialect.otherLimit === known.otherLimit
            const isRefusal = ({ outcome }: Attempt) =>
              REFUSED.has(outcome) || (isOnlyShorter && outcome === "context-too-long")
            const attempts = failed.error.attempts ?? []
            const refused = attempts.filter(isRefusal).map(nameOf)
            // If a prompt leaves little of the context, a refusal says nothing about other requests.
            if (attempts.some(({ outcome }) => REFUSED.has(outcome))) refusals.push(failed.error)
            if (refused.length === 0) return Effect.fail(failed)
            const again = Effect.tap(ask(route, dialect), ({ target }) =>
              refused.includes(nameOf(target)) ? noteDialect(target, namedIn(refusals, known, dialect)) : Effect.void,
            )
            return Effect.flatMap(mayCallAgain(spending, targets), (may) => (may ? again : Effect.fail(failed)))
          }),
        ask(route, known),
      )
    })
    const announced =
      onChosen === undefined || first === undefined ? answered : Effect.andThen(onChosen(first), answered)
    const attributes = { strategy: settings.strategy, role: request.role ?? "none", targets: targets.length }
    return Effect.andThen(Effect.annotateCurrentSpan(attributes), announced)
  }
}

/** Returns a function that remembers and logs the members of a request that a target refuses. */
const makeNoteDialect =
  (dialects: Dialects, clock: Clock.Clock) => (target: TargetName, dialect: Dialect | undefined) =>
    Effect.suspend(() => {
      if (dialect === undefined) return Effect.void
      dialects.learn(target, dialect, momentOf(clock))
      const { form, longest } = dialect
      const limit = limitMember(dialect, target)
      return Effect.logWarning("A model refused members of a request; it is asked differently for a while").pipe(
        Effect.annotateLogs({
          provider: target.provider,
          model: target.model,
          response_format: form ? "sent" : "left out",
          limit: longest < Infinity ? `${limit} up to ${longest}` : limit,
          forMs: Duration.toMillis(LEARNED_FOR),
        }),
      )
    })

/** Returns a function that makes a call within the budgets of its tenant, agent and key. */
const makeCallBudgeted =
  (budgets: Budgets["Service"], clock: Clock.Clock) =>
  <A>(
    { fitting, request, settings }: Fitted,
    budgeted: ReadonlyArray<Budgeted>,
    call: (fitted: Fitted, onSpending: (spending: Spending) => void) => Effect.Effect<A, RouterError>,
  ) => {
    const now = clock.currentTimeMillisUnsafe()
    const worst = worstCase(request.size, fitting, (target) => priceOf(settings, target, now)?.prices ?? null)
    // Without a money budget, targets without a price count as free, so the highest cost is no limit.
    const limit = { tokens: worst.tokens, cost: hasMoney(budgeted) ? worst.cost : Infinity }
    let spending: Spending | undefined
    const answered = call(
      { settings, request: { ...request, allowance: request.allowance ?? UNLIMITED }, fitting, worst: limit },
      (made) => (spending = made),
    )
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

/** The targets of a cascade's tier: the preferred one first, then those least related to `independentOf`. */
const tierOf = (settings: RoutingSettings, request: RoutedRequest, fitting: ReadonlyArray<Target>) => {
  const last = fitting.length - 1
  const isCascade = settings.strategy === "cascade"
  const tier = isCascade ? Math.min(request.tier ?? 0, last) : 0
  const { independentOf = [], preferred } = request
  const isPreferred = (target: Target) => Number(preferred !== undefined && sameTarget(target, preferred))
  return {
    targets: leastRelatedFirst(fitting.slice(tier), independentOf).toSorted((a, b) => isPreferred(b) - isPreferred(a)),
    escalateBelow: isCascade && tier < last ? (settings.cascade?.escalate_below ?? null) : null,
  }
}
