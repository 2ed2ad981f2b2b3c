/** Tries a routing configuration on the calls of the last day, before anybody depends on it. */
import { Context, DateTime, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { costOf, sumOf, type Tokens } from "../../domain/routing/money.ts"
import { Role, type RoutingSettings, type RoutingSettingsInput, type Target } from "../../domain/routing/routing.ts"
import type { RoutingSettingsInvalid } from "../../domain/routing/routingChecks.ts"
import { MAX_TRIED_CALLS, type RoutingTrial, TRIAL_METHOD } from "../../domain/routing/routingTrial.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import { permits, TargetName } from "../../domain/upstream/targets.ts"
import { decodeRows, unavailable } from "../storedRows.ts"
import { FirstTokenTimes } from "./FirstTokenTimes.ts"
import { priceOf } from "./Prices.ts"
import { RoutingConfig } from "./RoutingConfig.ts"
import { orderBy } from "./Strategies.ts"

const SPAN = { hours: 24 } as const

const Call = Schema.Struct({
  ...TargetName.fields,
  role: Role,
  input: Schema.Int,
  output: Schema.Int,
  cached: Schema.Int,
  cost: Schema.NullOr(Schema.Int),
  ttft: Schema.NullOr(Schema.Finite),
})
type Call = typeof Call.Type
const decodeCalls = decodeRows("ledger_calls", Call)
const decodeCount = decodeRows("ledger_calls", Schema.Struct({ calls: Schema.Int }))

export class RoutingTrials extends Context.Service<
  RoutingTrials,
  {
    /** What `input` would have done with the calls of all tenants in the last 24 hours. Nothing is changed. */
    readonly run: (
      input: RoutingSettingsInput,
    ) => Effect.Effect<RoutingTrial, RoutingSettingsInvalid | StorageUnavailable>
  }
>()("sealgate/services/routing/RoutingTrials") {
  static readonly layer = Layer.effect(
    RoutingTrials,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const config = yield* RoutingConfig

      const run = Effect.fn("RoutingTrials.run")(function* (input: RoutingSettingsInput) {
        yield* config.check(input)
        const settings = { ...input, version: input.version ?? 0 }
        const to = yield* DateTime.now
        const from = DateTime.subtract(to, SPAN)
        const [begin, end] = [DateTime.toEpochMillis(from), DateTime.toEpochMillis(to)]
        const [counted] = yield* decodeCount(
          yield* sql`SELECT COUNT(*) AS calls FROM ledger_calls WHERE at >= ${begin} AND at < ${end}`,
        )
        const calls = yield* decodeCalls(
          yield* sql`SELECT provider, model, role, cost, input_tokens AS input, output_tokens AS output,
              cached_tokens AS cached, ttft_ms AS ttft
            FROM ledger_calls
            WHERE at >= ${begin} AND at < ${end} AND outcome = 'success' AND input_tokens IS NOT NULL
            ORDER BY at DESC LIMIT ${MAX_TRIED_CALLS}`,
        )
        const sums = yield* tryOn(settings, calls, end)
        return { from, to, other_calls: (counted?.calls ?? 0) - calls.length, ...sums, method: TRIAL_METHOD }
      }, unavailable)

      return RoutingTrials.of({ run })
    }),
  )
}

/** The targets for calls of a role, with what all these calls have in common. */
const targetsFor = (settings: RoutingSettings, role: Role, times: FirstTokenTimes, now: number) =>
  settings.targets
    .filter((target) => permits(settings.roles?.[role], target))
    .map((target) => ({
      target,
      prices: priceOf(settings, target, now)?.prices ?? null,
      firstTokenMs: times.median(target, now),
    }))

/** The targets that would take a call, the one that would be tried first at the beginning. */
const offer = (settings: RoutingSettings, targets: ReturnType<typeof targetsFor>, tokens: Tokens) =>
  orderBy(settings.strategy)(
    targets
      .filter(({ target }) => tokens.input + tokens.output <= target.max_context_tokens)
      .map(({ firstTokenMs, prices, target }) => ({ target, estimate: costOf(prices, tokens), firstTokenMs })),
  )

const nameOf = ({ model, provider }: TargetName): string => `${provider}/${model}`

const tryOn = Effect.fnUntraced(function* (settings: RoutingSettings, calls: ReadonlyArray<Call>, now: number) {
  const times = new FirstTokenTimes()
  // As if they all had been measured just now: a day is too long ago for the router, and all that is known here.
  for (const call of calls) if (call.ttft !== null) times.add(call, call.ttft, now)
  // Filters have up to 64 patterns: matched for each call, they would keep a gateway busy for many seconds.
  const byRole = new Map(Role.literals.map((role) => [role, targetsFor(settings, role, times, now)]))
  const entryOf = ({ model, provider }: Pick<Target, "model" | "provider">) => {
    const entry = { provider, model, actual_calls: 0, trial_calls: 0, trial_micro_usd: 0 }
    targets.set(nameOf(entry), entry)
    return entry
  }
  const targets = new Map<string, Mutable<RoutingTrial["by_target"][number]>>()
  for (const target of settings.targets) entryOf(target)
  const sums = {
    tried_calls: calls.length,
    actual_micro_usd: 0,
    trial_micro_usd: 0,
    unpriced_calls: 0,
    unserved_calls: 0,
  }
  for (const call of calls) {
    const served = targets.get(nameOf(call)) ?? entryOf(call)
    served.actual_calls++
    const [first] = yield* offer(settings, byRole.get(call.role) ?? [], call)
    if (first === undefined) {
      sums.unserved_calls++
      continue
    }
    const chosen = targets.get(nameOf(first.target)) ?? entryOf(first.target)
    chosen.trial_calls++
    if (first.estimate === null || call.cost === null) {
      sums.unpriced_calls++
      continue
    }
    chosen.trial_micro_usd = sumOf(chosen.trial_micro_usd, first.estimate)
    sums.trial_micro_usd = sumOf(sums.trial_micro_usd, first.estimate)
    sums.actual_micro_usd = sumOf(sums.actual_micro_usd, call.cost)
  }
  return { ...sums, by_target: [...targets.values()] }
})

type Mutable<A> = { -readonly [K in keyof A]: A[K] }
