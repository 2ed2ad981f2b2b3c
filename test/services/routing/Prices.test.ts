import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Prices } from "../../../src/domain/routing/money.ts"
import { contextOf, effectivePrices, priceOf, shippedPrice } from "../../../src/services/routing/Prices.ts"
import { LIST_PRICES, PRICE_TABLE } from "../../../src/services/routing/PriceTable.ts"

const IN_2026 = Date.UTC(2026, 10, 21)
const provider1 = (model: string) => ({ provider: "provider1", model }) as const

describe("the shipped price table", () => {
  it("gives every row a date, a source and prices in the right unit", () => {
    for (const row of LIST_PRICES) {
      assert.match(row.as_of, /^20\d\d-\d\d-\d\d$/, row.model)
      assert.match(row.source, /^https:\/\//, row.model)
      const quote = shippedPrice(provider1(row.model), IN_2026)
      assert.isTrue(quote !== null && Schema.is(Prices)(quote.prices), row.model)
      assert.isAtMost(row.usd[2], row.usd[0], `${row.model}: cached input is never dearer than input`)
    }
  })

  it("lists no model twice for the same day", () => {
    const keys = LIST_PRICES.map(({ from, model }) => `${model}/${from}`)
    assert.strictEqual(new Set(keys).size, keys.length)
  })

  it("is as old as its newest price", () => {
    assert.strictEqual(
      PRICE_TABLE.as_of,
      LIST_PRICES.map(({ as_of }) => as_of)
        .sort()
        .at(-1),
    )
  })
})

describe("shippedPrice", () => {
  it("is in micro-USD per million tokens", () => {
    assert.deepStrictEqual(shippedPrice(provider1("gpt-5-mini"), IN_2026)?.prices, {
      input: 250_000,
      output: 2_000_000,
      cached_input: 25_000,
    })
  })

  it("has a price of cache writes where the vendor has one", () => {
    const sonnet = shippedPrice({ provider: "provider3", model: "claude-sonnet-4-6" }, IN_2026)
    assert.deepInclude(sonnet?.prices, { cache_write_input: 3_750_000, cache_write_1h_input: 6_000_000 })
    assert.isUndefined(shippedPrice(provider1("gpt-5-mini"), IN_2026)?.prices.cache_write_input)
  })

  it("changes on the day that its source states", () => {
    const at = (time: number) => shippedPrice({ provider: "provider4", model: "gemini-3.8-flash" }, time)?.prices.output
    assert.strictEqual(at(Date.UTC(2026, 11, 31, 23, 59, 59, 999)), 3_750_000)
    assert.strictEqual(at(Date.UTC(2027, 0, 1)), 7_500_000)
  })

  it("recognizes a dated snapshot of a model, and no other similar name", () => {
    assert.isNotNull(shippedPrice(provider1("gpt-6.1-sol-2026-09-29"), IN_2026))
    assert.isNotNull(shippedPrice({ provider: "provider3", model: "claude-haiku-4-5-20251001" }, IN_2026))
    assert.isNull(shippedPrice(provider1("gpt-5-mini-turbo"), IN_2026))
    assert.isNull(shippedPrice(provider1("constructor"), IN_2026))
  })

  it("makes echo free, and no other provider's model by that name", () => {
    assert.strictEqual(shippedPrice({ provider: "echo", model: "anything" }, IN_2026)?.prices.input, 0)
    assert.isNull(shippedPrice(provider1("echo-1"), IN_2026))
  })

  it("knows the context of what it prices", () => {
    assert.strictEqual(contextOf({ provider: "provider3", model: "claude-haiku-4-5" }), 200_000)
    assert.strictEqual(contextOf({ provider: "echo", model: "anything" }), 1_000_000)
    assert.isUndefined(contextOf(provider1("unheard-of")))
  })
})

describe("priceOf", () => {
  const own = { input: 1, output: 2, cached_input: 0 }
  const settings = {
    version: 7,
    targets: [
      { ...provider1("gpt-5"), max_context_tokens: 1000, prices: own },
      { ...provider1("gpt-4.1"), max_context_tokens: 1000 },
    ],
  }

  it("prefers the operator's price and names its version", () => {
    assert.deepInclude(priceOf(settings, provider1("gpt-5"), IN_2026), { prices: own, version: "config-7" })
    assert.deepInclude(priceOf(settings, provider1("gpt-5"), IN_2026, "gpt-5-2025-08-07"), { prices: own })
  })

  it("falls back to the list price of the model that served, if it is known", () => {
    assert.strictEqual(priceOf(settings, provider1("gpt-4.1"), IN_2026)?.version, PRICE_TABLE.version)
    assert.strictEqual(priceOf(settings, provider1("gpt-4.1"), IN_2026, "gpt-4.1-mini")?.prices.input, 400_000)
    assert.strictEqual(priceOf(settings, provider1("gpt-4.1"), IN_2026, "deployment-17")?.prices.input, 2_000_000)
    assert.isNull(priceOf(settings, provider1("unheard-of"), IN_2026, "deployment-17"))
  })
})

describe("effectivePrices", () => {
  it("have price, date and source of every target and the baseline", () => {
    const own = { input: 1, output: 2, cached_input: 0 }
    const target = (model: string) => ({ ...provider1(model), max_context_tokens: 1000 })
    const targets = [{ ...target("gpt-5"), prices: own }, target("gemini-3.8-flash"), target("unheard-of")]
    const at = (time: number) => effectivePrices({ version: 7, baseline: provider1("gpt-4.1"), targets }, time)
    const list = (input: number, output: number, cached_input: number) => ({
      prices: { input, output, cached_input },
      as_of: "2026-09-20",
      source: "https://ai.google.dev/gemini-api/docs/pricing",
    })
    assert.deepStrictEqual(at(IN_2026), [
      { ...provider1("gpt-5"), prices: own, source: "routing configuration" },
      { ...provider1("gemini-3.8-flash"), ...list(750_000, 3_750_000, 75_000) },
      { ...provider1("unheard-of"), prices: null },
      {
        ...provider1("gpt-4.1"),
        prices: { input: 2_000_000, output: 8_000_000, cached_input: 500_000 },
        as_of: "2026-03-01",
        source: "https://developers.openai.com/api/docs/pricing",
      },
    ])
    assert.deepInclude(at(Date.UTC(2027, 0, 1))[1], list(1_500_000, 7_500_000, 150_000))
    // A baseline that is also a target is listed once.
    assert.strictEqual(effectivePrices({ version: 7, baseline: provider1("gpt-5"), targets }, IN_2026).length, 3)
  })
})
