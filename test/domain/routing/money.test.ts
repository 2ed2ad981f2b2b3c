import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { costOf, percentOf, Prices, tokensOf, type TokenUse } from "../../../src/domain/routing/money.ts"

const usd = (input: number, output: number, cachedInput: number): Prices => ({
  input: input * 1_000_000,
  output: output * 1_000_000,
  cached_input: cachedInput * 1_000_000,
})

describe("costOf", () => {
  it.each([
    // 1,000 × 3 USD + 500 × 15 USD per million = 0.003 + 0.0075 USD
    ["input and output", usd(3, 15, 0.3), { input: 1000, output: 500, cached: 0 }, 10_500],
    // 200 × 3 + 800 × 0.3 + 500 × 15 = 600 + 240 + 7,500
    ["a cached prefix at its own price", usd(3, 15, 0.3), { input: 1000, output: 500, cached: 800 }, 8340],
    ["everything cached", usd(3, 15, 0.3), { input: 1000, output: 0, cached: 1000 }, 300],
    [
      "a part that the cache writes at its own price",
      { ...usd(3, 15, 0.3), cache_write_input: 3_750_000 },
      { input: 1000, output: 500, cached: 700, written: 200 },
      8760,
    ],
    [
      "a part that the cache keeps for an hour at its own price",
      { ...usd(3, 15, 0.3), cache_write_input: 3_750_000, cache_write_1h_input: 6_000_000 },
      { input: 1000, output: 500, cached: 700, written: 200, writtenForHour: 120 },
      9030,
    ],
    ["a written part without such a price", usd(3, 15, 0.3), { input: 1000, output: 0, cached: 0, written: 900 }, 3000],
    ["nothing", usd(3, 15, 0.3), { input: 0, output: 0, cached: 0 }, 0],
    ["a free model", usd(0, 0, 0), { input: 1000, output: 500, cached: 0 }, 0],
    // 0.05 USD per million: 9 tokens are 0.45 micro-USD, 10 are 0.5, 30 are 1.5
    ["less than half a micro-USD", usd(0.05, 0.4, 0.005), { input: 9, output: 0, cached: 0 }, 0],
    ["half a micro-USD", usd(0.05, 0.4, 0.005), { input: 10, output: 0, cached: 0 }, 1],
    ["one and a half", usd(0.05, 0.4, 0.005), { input: 30, output: 0, cached: 0 }, 2],
    // The parts are 0.4 each; rounded one by one they would be lost.
    ["parts that only matter together", usd(0.4, 0.4, 0.4), { input: 2, output: 1, cached: 1 }, 1],
  ] as const)("prices %s", (_, prices, tokens, expected) => {
    assert.strictEqual(costOf(prices, tokens), expected)
  })

  it("is null without a price or without tokens", () => {
    assert.isNull(costOf(null, { input: 1, output: 1, cached: 0 }))
    assert.isNull(costOf(usd(1, 1, 1), null))
  })

  it("applies the long-context price to all tokens of a longer request only", () => {
    const prices: Prices = {
      ...usd(0.1, 0.5, 0.01),
      long_context: { above_input_tokens: 100_000, ...usd(0.5, 2.5, 0.05) },
    }
    // 100,000 × 0.1 + 1,000 × 0.5
    assert.strictEqual(costOf(prices, { input: 100_000, output: 1000, cached: 0 }), 10_500)
    // 90,001 × 0.5 + 10,000 × 0.05 + 1,000 × 2.5 = 45,000.5 + 500 + 2,500
    assert.strictEqual(costOf(prices, { input: 100_001, output: 1000, cached: 10_000 }), 48_001)
  })

  it("is null beyond safe integers", () => {
    assert.isNull(costOf(usd(100_000, 0, 0), { input: Number.MAX_SAFE_INTEGER, output: 0, cached: 0 }))
  })

  const TokenUse = Schema.Struct({
    input: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000_000 })),
    output: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000_000 })),
    share: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })),
  })
  const toTokens = ({ input, output, share }: typeof TokenUse.Type): TokenUse => ({
    input,
    output,
    cached: Math.floor(input * share),
    written: Math.floor(input * (1 - share) * share),
    writtenForHour: Math.floor(input * (1 - share) * share * share),
  })
  const MILLION = 1_000_000n
  const exactOf = (prices: Prices, { cached, input, output, written = 0, writtenForHour = 0 }: TokenUse): bigint => {
    const long = prices.long_context
    const at = long !== undefined && input > long.above_input_tokens ? long : prices
    return (
      BigInt(input - cached - written) * BigInt(at.input) +
      BigInt(written - writtenForHour) * BigInt(at.cache_write_input ?? at.input) +
      BigInt(writtenForHour) * BigInt(at.cache_write_1h_input ?? at.cache_write_input ?? at.input) +
      BigInt(cached) * BigInt(at.cached_input) +
      BigInt(output) * BigInt(at.output)
    )
  }

  it.prop("is within half a micro-USD of the exact amount", [Prices, TokenUse], ([prices, drawn]) => {
    const tokens = toTokens(drawn)
    const exact = exactOf(prices, tokens)
    const cost = costOf(prices, tokens)
    if (cost === null) return exact / MILLION >= BigInt(Number.MAX_SAFE_INTEGER)
    const error = BigInt(cost) * MILLION - exact
    return error > -MILLION / 2n && error <= MILLION / 2n
  })

  it.prop("grows with every token, and never with a cheaper cache", [Prices, TokenUse], ([prices, drawn]) => {
    const tokens = toTokens(drawn)
    const { long_context: _, ...flat } = prices
    const cost = costOf(flat, tokens)
    const more = costOf(flat, { ...tokens, output: tokens.output + 1 })
    const discounted = { ...flat, cached_input: Math.min(flat.cached_input, flat.input) }
    const uncached = costOf(discounted, { ...tokens, cached: 0 })
    const cached = costOf(discounted, tokens)
    if (cost === null || more === null || uncached === null || cached === null) return true
    return more >= cost && cached <= uncached
  })
})

describe("tokensOf", () => {
  it("reads the counts that providers report, and assumes none", () => {
    assert.isNull(tokensOf(null))
    assert.deepStrictEqual(tokensOf({ prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 }), {
      input: 5,
      output: 2,
      cached: 0,
      written: 0,
      writtenForHour: 0,
    })
    for (const [cached_tokens, cache_write_tokens, cached, written, cache_write_1h_tokens, writtenForHour] of [
      [9, 1, 5, 0, 1, 0],
      [2, 9, 2, 3, 8, 3],
      [1, 2, 1, 2, 1, 1],
    ] as const) {
      const counts = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 }
      const details = { cached_tokens, cache_write_tokens, cache_write_1h_tokens }
      const tokens = tokensOf({ ...counts, prompt_tokens_details: details })
      assert.deepStrictEqual(tokens, { input: 5, output: 2, cached, written, writtenForHour })
    }
  })

  it("takes no count that no call can have", () => {
    const most = Number.MAX_SAFE_INTEGER
    assert.isNull(tokensOf({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }))
    assert.isNull(tokensOf({ prompt_tokens: 5, completion_tokens: most, total_tokens: most }))
    assert.isNull(tokensOf({ prompt_tokens: 1, completion_tokens: 1_000_000_000, total_tokens: most }))
    const largest = tokensOf({ prompt_tokens: 0, completion_tokens: 1_000_000_000, total_tokens: 1_000_000_000 })
    assert.strictEqual(costOf(usd(100_000, 100_000, 100_000), largest), 100_000_000_000_000)
  })
})

describe("percentOf", () => {
  it("has two decimals and a sign, and is null without a baseline", () => {
    assert.strictEqual(percentOf(1, 3), 33.33)
    assert.strictEqual(percentOf(-50, 200), -25)
    assert.isNull(percentOf(0, 0))
  })
})
