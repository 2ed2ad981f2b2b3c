/**
 * Prices and costs. Amounts are whole micro-USD (millionths of a US dollar), prices are micro-USD per million tokens, so
 * amounts are never fractions. An unknown amount is `null`, never 0.
 */
import { Schema } from "effect"
import type { Usage } from "../chat/chatTypes.ts"

const TOKENS_PER_PRICE = 1_000_000n

/** 100,000 USD per million tokens. A larger price is a mistake of units. */
const MAX_PRICE = 100_000_000_000

const Price = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: MAX_PRICE })).annotate({
  description: "Micro-USD per million tokens: 3 USD per million tokens is 3000000.",
})

const rates = {
  input: Price,
  output: Price,
  cached_input: Price.annotate({
    description:
      "Micro-USD per million input tokens that the provider reads from its cache; without a discount, as `input`.",
  }),
  cache_write_input: Schema.optionalKey(
    Price.annotate({
      description: "Micro-USD per million input tokens that the provider writes to its cache; default: as `input`.",
    }),
  ),
  cache_write_1h_input: Schema.optionalKey(
    Price.annotate({
      description: "The same for tokens that it keeps for an hour; default: as `cache_write_input`.",
    }),
  ),
}

export const Prices = Schema.Struct({
  ...rates,
  long_context: Schema.optionalKey(
    Schema.Struct({ above_input_tokens: Schema.Int.check(Schema.isGreaterThan(0)), ...rates }).annotate({
      description: "Prices of every token of a request whose input is longer than `above_input_tokens`.",
    }),
  ),
})
export type Prices = typeof Prices.Type

/**
 * Token counts of one call. `cached` and `written` are the parts of `input` that the provider's cache read and wrote, and
 * `writtenForHour` is the part of `written` that it keeps for an hour.
 */
export interface TokenUse {
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly written?: number
  readonly writtenForHour?: number
}

export const NO_TOKENS: TokenUse = { input: 0, output: 0, cached: 0 }

/** More than any call can have. Up to this, the cost of a call at any price is a safe integer. */
const MAX_TOKENS = 1_000_000_000

/**
 * The token counts that a provider reported. `null` if it reported none, zeros (which some servers send in place of
 * counts), or more than {@link MAX_TOKENS}. Caps cached and written tokens at the input tokens.
 */
export const tokensOf = (usage: Usage | null | undefined): TokenUse | null => {
  if (usage == null) return null
  const { completion_tokens: output, prompt_tokens: input, prompt_tokens_details: details } = usage
  const all = input + output
  if (all === 0 || all > MAX_TOKENS) return null
  const cached = Math.min(details?.cached_tokens ?? 0, input)
  const written = Math.min(details?.cache_write_tokens ?? 0, input - cached)
  return { input, output, cached, written, writtenForHour: Math.min(details?.cache_write_1h_tokens ?? 0, written) }
}

const ratesOf = (prices: Prices, input: number): Pick<Prices, keyof typeof rates> => {
  const long = prices.long_context
  return long !== undefined && input > long.above_input_tokens ? long : prices
}

/** The cost of one call in micro-USD, rounded once, half up. `null` if unknown, or not a safe integer. */
export const costOf = (prices: Prices | null, tokens: TokenUse | null): number | null => {
  if (prices === null || tokens === null) return null
  const { input, output, cached_input, cache_write_input = input, ...rates } = ratesOf(prices, tokens.input)
  const { cache_write_1h_input = cache_write_input } = rates
  const { written = 0, writtenForHour = 0 } = tokens
  const exact =
    BigInt(tokens.input - tokens.cached - written) * BigInt(input) +
    BigInt(written - writtenForHour) * BigInt(cache_write_input) +
    BigInt(writtenForHour) * BigInt(cache_write_1h_input) +
    BigInt(tokens.cached) * BigInt(cached_input) +
    BigInt(tokens.output) * BigInt(output)
  const rounded = Number((exact + TOKENS_PER_PRICE / 2n) / TOKENS_PER_PRICE)
  return Number.isSafeInteger(rounded) ? rounded : null
}

/** The cost of a call whose cache writes the whole input, if that costs more. */
export const highestCostOf = (prices: Prices | null, { input, output }: Pick<TokenUse, "input" | "output">) => {
  const costs = [[0], [input], [input, input]].map(([written = 0, writtenForHour = 0]) =>
    costOf(prices, { input, output, cached: 0, written, writtenForHour }),
  )
  return costs.reduce((most, cost) => (most === null || cost === null ? null : Math.max(most, cost)), 0)
}

/**
 * The most output tokens with which a call of `input` tokens, all written to the cache, costs at most `cost` micro-USD.
 * `Infinity` if output is free, negative if the input alone costs more.
 */
export const outputWithin = (prices: Prices, input: number, cost: number): number => {
  const rates = ratesOf(prices, input)
  const dearest = Math.max(rates.input, rates.cache_write_input ?? 0, rates.cache_write_1h_input ?? 0)
  const left = BigInt(Math.floor(cost)) * TOKENS_PER_PRICE - BigInt(input) * BigInt(dearest)
  if (left < 0n) return -1
  return rates.output === 0 ? Infinity : Number(left / BigInt(rates.output))
}

/** Cap of sums, the largest exact integer: one absurd call cannot make a sum undecodable. */
export const MAX_SUM = Number.MAX_SAFE_INTEGER

/** The sum of two amounts or counts, at most {@link MAX_SUM}. */
export const sumOf = (a: number, b: number): number => Math.min(a + b, MAX_SUM)

/** The sum of two amounts; `null` if either is unknown. */
export const addCost = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? null : sumOf(a, b)

/** `saved` as a percentage of `baseline` with two decimals; `null` when there is no baseline to compare with. */
export const percentOf = (saved: number, baseline: number): number | null =>
  baseline === 0 ? null : Math.round((saved / baseline) * 10_000) / 100
