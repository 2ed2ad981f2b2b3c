/** Turns the calls of a request into ledger rows, each with its cost and its baseline. */
import { Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import type { StepCall } from "../../domain/jobs/job.ts"
import { addCost, costOf, NO_TOKENS, sumOf, tokensOf } from "../../domain/routing/money.ts"
import { ModelRole, type RoutingSettings, Strategy } from "../../domain/routing/routing.ts"
import { Labels } from "../../domain/routing/labels.ts"
import { TargetName } from "../../domain/upstream/targets.ts"
import type { Attempt } from "../../domain/upstream/upstream.ts"
import type { CallRecord } from "./CallRecord.ts"
import { priceOf } from "./Prices.ts"

const TextOrNull = Schema.NullOr(Schema.String)

/** The columns that all rows of one request share. */
export const Account = Schema.Struct({
  tenant: Schema.String,
  job: TextOrNull,
  agent: TextOrNull,
  key: TextOrNull,
  labels: Labels,
  mode: TextOrNull,
  role: Schema.NullOr(ModelRole),
  /** Whether the call exists only because of routing: its cost counts, but it has no baseline. */
  extra: Schema.Boolean,
})
export type Account = typeof Account.Type

/** A call, and its charge against the job's limits. */
export interface ChargedAttempt extends Attempt, Pick<CallRecord, "charged"> {}

/** The tokens of a call. A free call, or a count of tokens, used none unless the provider reports some. */
const tokensUsed = ({ charged, usage }: ChargedAttempt) => tokensOf(usage) ?? (charged.tokens === 0 ? NO_TOKENS : null)

/**
 * Returns the rows of a request's calls, in order, after the `earlier` ones. Only the call that served has a baseline.
 * Failed calls and calls that only routing made have a baseline of 0: another model would not have had these failures.
 */
export const recordsOf = (
  settings: RoutingSettings,
  account: Account,
  attempts: ReadonlyArray<ChargedAttempt>,
  earlier: ReadonlyArray<CallRecord>,
): ReadonlyArray<CallRecord> => {
  const requestId = earlier[0]?.requestId ?? SecureRandom.uuidV7Unsafe()
  return attempts.map((attempt, position): CallRecord => {
    const index = earlier.length + position
    const tokens = tokensUsed(attempt)
    const quote = priceOf(settings, attempt, attempt.startedAt, attempt.servedModel)
    const baseline = priceOf(settings, settings.baseline, attempt.startedAt)?.prices ?? null
    const counts = attempt.outcome === "success" && !account.extra
    return {
      id: `${requestId}-${index}`,
      at: attempt.startedAt,
      requestId,
      first: index === 0,
      ...columnsOf(account),
      strategy: settings.strategy,
      provider: attempt.provider,
      model: attempt.model,
      servedModel: attempt.servedModel,
      tokens,
      priceVersion: quote?.version ?? null,
      cost: costOf(quote?.prices ?? null, tokens),
      charged: attempt.charged,
      estimated: attempt.charged.tokens !== (tokens?.input ?? 0) + (tokens?.output ?? 0),
      baseline: costOf(baseline, counts ? tokens : NO_TOKENS),
      ownKey: attempt.ownKey === true,
      latency: attempt.finishedAt - attempt.startedAt,
      ttft: attempt.timeToFirstTokenMs,
      outcome: attempt.outcome,
    }
  })
}

const columnsOf = (account: Account) => {
  const { extra: _, ...columns } = account
  return columns
}

/** A request under way: everything known about it if its process dies. */
export const Pending = Schema.Struct({
  account: Account,
  strategy: Strategy,
  /** The first target that it may go to. */
  target: TargetName,
})
export type Pending = typeof Pending.Type

/** Columns of a row without a known call. */
const NO_CALL = { first: true, servedModel: null, priceVersion: null, ownKey: false, latency: 0, ttft: null } as const

/** The row of a request whose process died, so that its usage is unknown; `at` is when it began. */
export const lostRecord = (
  id: string,
  at: number,
  { account, strategy, target }: Pending,
  charged: CallRecord["charged"],
): CallRecord => ({
  ...NO_CALL,
  ...columnsOf(account),
  id: `${id}-lost`,
  at,
  requestId: id,
  strategy,
  ...target,
  tokens: null,
  cost: null,
  charged,
  estimated: true,
  baseline: null,
  outcome: "interrupted",
})

/** The row of an answer from the cache: a call without cost, whose baseline is what the answer `cost` at first. */
export const cachedRecord = (at: number, { account, strategy, target }: Pending, cost: number | null): CallRecord => {
  const requestId = SecureRandom.uuidV7Unsafe()
  return {
    ...NO_CALL,
    ...columnsOf(account),
    id: `${requestId}-0`,
    at,
    requestId,
    strategy,
    ...target,
    tokens: NO_TOKENS,
    cost: 0,
    charged: { tokens: 0, cost: 0 },
    estimated: false,
    baseline: cost,
    outcome: "cached",
  }
}

/** The sum of a step's calls; `undefined` if there were none. Provider and model are those of the last one. */
export const stepCallOf = (records: ReadonlyArray<CallRecord>): StepCall | undefined => {
  const last = records.at(-1)
  if (last === undefined) return undefined
  const known = records.flatMap(({ tokens }) => tokens ?? [])
  return {
    provider: last.provider,
    model: last.servedModel ?? last.model,
    usage:
      known.length === 0
        ? null
        : {
            input_tokens: known.reduce((sum, { input }) => sumOf(sum, input), 0),
            output_tokens: known.reduce((sum, { output }) => sumOf(sum, output), 0),
            cached_tokens: known.reduce((sum, { cached }) => sumOf(sum, cached), 0),
          },
    cost_micro_usd: records.reduce<number | null>((sum, { cost }) => addCost(sum, cost), 0),
    calls: records.length,
  }
}
