/**
 * Limits of the calls of a request. The unused part is sent to the provider as its output limit. A call without
 * reported usage is charged its estimate.
 */
import { ruleOf } from "../../domain/upstream/failures.ts"
import {
  costOf,
  highestCostOf,
  outputWithin,
  type Prices,
  sumOf,
  type TokenUse,
  tokensOf,
} from "../../domain/routing/money.ts"
import { sameTarget, type TargetName } from "../../domain/upstream/targets.ts"
import type { Target } from "../../domain/routing/routing.ts"
import type { Attempt } from "../../domain/upstream/upstream.ts"
import type { Amount } from "../budgets/limits.ts"
import type { CallRecord } from "./CallRecord.ts"
import { expectedOutput, leastOutput, type RequestSize } from "./TokenEstimate.ts"

/** `Infinity` means no limit. `cost` is in micro-USD. */
export interface Allowance {
  readonly calls: number
  readonly tokens: number
  readonly cost: number
}

export const UNLIMITED: Allowance = { calls: Infinity, tokens: Infinity, cost: Infinity }

/** The longest output of a call; below 1, no call is allowed. */
export const longestOutput = ({ cost, tokens }: Allowance, prices: Prices | null, input: number): number => {
  const paid = cost === Infinity ? Infinity : prices === null ? 0 : outputWithin(prices, input, cost)
  return Math.min(tokens - input, paid)
}

/** Whether a call failed before a model ran. An error after output means that a model ran. */
export const isFree = ({ outcome, timeToFirstTokenMs }: Attempt): boolean =>
  timeToFirstTokenMs === null && ruleOf(outcome)?.billed === false

/** The longest answer of a call under a budget that sets no limit: a longer one would reserve the whole budget. */
const BUDGETED_OUTPUT_TOKENS = 8192

/** Highest cost of a request, at the dearest of these targets; targets without a price count as free. */
export const worstCase = (
  size: RequestSize,
  targets: ReadonlyArray<Target>,
  pricesOf: (target: Target) => Prices | null,
): { readonly cost: number; readonly tokens: number } => {
  const { input } = size
  const output = expectedOutput(size, BUDGETED_OUTPUT_TOKENS)
  const costs = targets.map((target) => highestCostOf(pricesOf(target), { input, output }) ?? 0)
  // A request without output: only the input costs, and its price may have been rounded down.
  return { tokens: input + output, cost: Math.max(0, ...costs) + (output === 0 ? 1 : 0) }
}

const UNRESERVED: Amount = { cost: Infinity, tokens: Infinity }

/** Keeps the calls of one request within its allowance and what is reserved for it, and computes their charges. */
export class Spending {
  charged: Amount = { cost: 0, tokens: 0 }
  private calls = 0
  private reserved: Amount
  private readonly allowance: Allowance
  private readonly worst: Amount | undefined
  private readonly size: RequestSize
  private readonly expected: number
  private readonly pricesOf: (target: TargetName, served?: string | null) => Prices | null

  constructor(
    allowance: Allowance,
    size: RequestSize,
    pricesOf: (target: TargetName, served?: string | null) => Prices | null,
    /** The worst case of a call, which is reserved; `cost` may be `Infinity`. */
    worst?: Amount,
  ) {
    this.allowance = allowance
    this.worst = worst
    this.reserved = worst ?? UNRESERVED
    this.size = size
    // Under a reservation, an unknown output is charged as the longest that was allowed.
    this.expected = worst === undefined ? expectedOutput(size) : Infinity
    this.pricesOf = pricesOf
  }

  /** The amount to reserve again before another call, whose worst case is limited by the allowance. */
  get missing(): Amount {
    const { allowance, calls, charged, reserved, worst = UNRESERVED } = this
    const missing = (of: keyof Amount) =>
      reserved[of] === Infinity || calls >= allowance.calls
        ? 0
        : Math.max(0, Math.min(sumOf(charged[of], worst[of]), allowance[of]) - reserved[of])
    return { cost: missing("cost"), tokens: missing("tokens") }
  }

  addReserved({ cost, tokens }: Amount): void {
    this.reserved = { cost: this.reserved.cost + cost, tokens: this.reserved.tokens + tokens }
  }

  mayCall(targets: ReadonlyArray<Target>): boolean {
    const least = leastOutput(this.size)
    return this.left.calls >= 1 && targets.every((target) => this.outputOf(target) >= least)
  }

  /**
   * The output limit to send, for each choice. If the target's context leaves less: under a reservation, the limit is
   * what the context leaves, because the estimate of the prompt may be too high; without one, it is `undefined`. If the
   * context leaves less than the expected answer, the limit is the expected answer: either the estimate is too high, or
   * the provider refuses the prompt.
   */
  limitOf(targets: ReadonlyArray<Target>, name: TargetName): number | undefined {
    const context = targets.find((target) => sameTarget(target, name))?.max_context_tokens ?? Infinity
    const { choices, input, prompt = input } = this.size
    const room = context - prompt
    const limit = Math.floor(this.outputOf(name) / choices)
    if (limit < room) return Math.max(1, limit)
    if (this.worst === undefined || limit === Infinity) return undefined
    return Math.max(1, Math.min(limit, Math.max(room, expectedOutput(this.size) / choices)))
  }

  /**
   * Charges a call whose answer had `received` tokens so far. A broken call may report the usage of its beginning
   * only, so the received tokens are the minimum, and an output of 0 is unknown unless the prompt was refused.
   */
  charge(attempt: Attempt, received: number): CallRecord["charged"] {
    const { outcome, servedModel, usage } = attempt
    const reported = tokensOf(usage)
    const most = Math.min(this.expected, Math.max(leastOutput(this.size), this.outputOf(attempt)))
    const isCounted = reported !== null && (reported.output > 0 || outcome === "content-filtered")
    const output = Math.max(received, isCounted ? reported.output : most)
    const { input } = this.size
    const written = this.worst === undefined ? 0 : input
    const unknown = { cached: 0, written, writtenForHour: written, input }
    const estimate: TokenUse = { ...unknown, ...reported, output }
    const tokens = outcome === "success" ? (reported ?? estimate) : isFree(attempt) ? reported : estimate
    const prices = this.pricesOf(attempt, servedModel)
    const charged = {
      tokens: (tokens?.input ?? 0) + (tokens?.output ?? 0),
      cost: tokens === null ? 0 : (costOf(prices, tokens) ?? 0),
    }
    this.charged = { cost: this.charged.cost + charged.cost, tokens: this.charged.tokens + charged.tokens }
    this.calls += 1
    return charged
  }

  private get left(): Allowance {
    const { allowance, calls, charged, reserved } = this
    return {
      calls: allowance.calls - calls,
      cost: Math.min(allowance.cost, reserved.cost) - charged.cost,
      tokens: Math.min(allowance.tokens, reserved.tokens) - charged.tokens,
    }
  }

  private outputOf(target: TargetName): number {
    return longestOutput(this.left, this.pricesOf(target), this.size.input)
  }
}
