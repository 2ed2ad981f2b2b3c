/**
 * The shipped list prices, in USD per million tokens as the providers print them. They were right on their `as_of`
 * dates and may have changed: compare them with the sources before relying on the savings. Your own prices
 * (negotiated, regional, newer) in `targets[].prices` of the routing configuration always win. An unlisted model has
 * no price, so its cost is unknown, not 0.
 *
 * Not included: cache storage, batch, flex and priority tiers, audio, regional surcharges.
 */

type Usd = readonly [input: number, output: number, cachedInput: number]

/** Dates are days in UTC. `from` is the first day on which the price holds; without it, it holds from the beginning. */
export interface ListPrice {
  /** The model's name, at any provider. */
  readonly model: string
  readonly usd: Usd
  /** The price of all tokens of a request with a longer input than this many tokens. */
  readonly above?: readonly [inputTokens: number, usd: Usd]
  /** The prices of writing an input token to the cache for five minutes and for an hour, as multiples of `input`. */
  readonly cacheWrites?: readonly [fiveMinutes: number, hour: number]
  readonly from?: string
  /** The longest input in tokens according to the provider's model page; the derived configuration uses it. */
  readonly context?: number
  readonly as_of: string
  readonly source: string
}

const OPENAI = "https://developers.openai.com/api/docs/pricing"
const ANTHROPIC = "https://platform.claude.com/docs/en/about-claude/pricing"
const GOOGLE = "https://ai.google.dev/gemini-api/docs/pricing"

const openai = { as_of: "2026-09-24", source: OPENAI }
const olderOpenai = { as_of: "2026-03-01", source: OPENAI }
const anthropic: Pick<ListPrice, "cacheWrites" | "as_of" | "source"> = {
  cacheWrites: [1.25, 2],
  as_of: "2026-10-24",
  source: ANTHROPIC,
}
const google = { as_of: "2026-09-20", source: GOOGLE }

export const LIST_PRICES: ReadonlyArray<ListPrice> = [
  {
    model: "gpt-6.1-sol",
    context: 922_000,
    usd: [2, 10, 0.1],
    above: [272_000, [4, 15, 0.2]],
    as_of: "2026-10-13",
    source: OPENAI,
  },
  { model: "gpt-6-sol", context: 922_000, usd: [2, 10, 0.2], above: [272_000, [4, 15, 0.4]], ...openai },
  { model: "gpt-6-luna", context: 922_000, usd: [0.1, 0.5, 0.01], above: [272_000, [0.2, 0.75, 0.02]], ...openai },
  { model: "gpt-5", context: 272_000, usd: [1.25, 10, 0.125], ...olderOpenai },
  { model: "gpt-5-mini", context: 272_000, usd: [0.25, 2, 0.025], ...olderOpenai },
  { model: "gpt-5-nano", context: 272_000, usd: [0.05, 0.4, 0.005], ...olderOpenai },
  { model: "gpt-4.1", context: 1_047_576, usd: [2, 8, 0.5], ...olderOpenai },
  { model: "gpt-4.1-mini", context: 1_047_576, usd: [0.4, 1.6, 0.1], ...olderOpenai },
  { model: "gpt-4.1-nano", context: 1_047_576, usd: [0.1, 0.4, 0.025], ...olderOpenai },
  { model: "gpt-4o", context: 128_000, usd: [2.5, 10, 1.25], ...olderOpenai },
  { model: "gpt-4o-mini", context: 128_000, usd: [0.15, 0.6, 0.075], ...olderOpenai },

  { model: "claude-fable-5-1", context: 1_000_000, usd: [10, 50, 0.25], ...anthropic },
  { model: "claude-opus-5-5", context: 1_000_000, usd: [4, 20, 0.2], ...anthropic },
  { model: "claude-opus-5", context: 1_000_000, usd: [5, 25, 0.5], ...anthropic },
  { model: "claude-sonnet-5-5", context: 1_000_000, usd: [2, 10, 0.1], ...anthropic },
  { model: "claude-sonnet-5", context: 1_000_000, usd: [2, 10, 0.2], ...anthropic },
  { model: "claude-sonnet-4-6", context: 1_000_000, usd: [3, 15, 0.3], ...anthropic },
  {
    model: "claude-haiku-5-5",
    context: 1_000_000,
    usd: [0.1, 0.5, 0.01],
    above: [100_000, [0.5, 2.5, 0.05]],
    ...anthropic,
  },
  { model: "claude-haiku-4-5", context: 200_000, usd: [1, 5, 0.1], ...anthropic },

  { model: "gemini-3.8-flash", context: 1_048_576, usd: [0.75, 3.75, 0.075], ...google },
  { model: "gemini-3.8-flash", context: 1_048_576, usd: [1.5, 7.5, 0.15], from: "2027-01-01", ...google },
  { model: "gemini-3.5-flash", context: 1_048_576, usd: [1.5, 9, 0.15], ...google },
  { model: "gemini-3.1-pro-preview", context: 1_048_576, usd: [2, 12, 0.2], above: [200_000, [4, 18, 0.4]], ...google },
  { model: "gemini-2.5-pro", context: 1_048_576, usd: [1.25, 10, 0.125], above: [200_000, [2.5, 15, 0.25]], ...google },
  { model: "gemini-2.5-flash", context: 1_048_576, usd: [0.3, 2.5, 0.03], ...google },
  { model: "gemini-2.5-flash-lite", context: 1_048_576, usd: [0.1, 0.4, 0.01], ...google },
]

export const PRICE_TABLE = {
  /** Changes with every row; each ledger row names the version of its price. */
  version: "shipped-2026-11-29",
  as_of: LIST_PRICES.reduce((newest, { as_of }) => (as_of > newest ? as_of : newest), ""),
} as const
