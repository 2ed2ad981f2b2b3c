import { assert, describe, it } from "@effect/vitest"
import { usd, usdExact, usdPlain } from "../../../src/domain/routing/dollars.ts"

describe("formatted amounts", () => {
  it("have more decimals the smaller they are, down to a micro-USD", () => {
    const written = [0, 1, 9999, 10_000, 999_999, 1_000_000, 1_234_567_890, -250_000].map(usd)
    assert.deepStrictEqual(written, [
      "$0.00",
      "$0.000001",
      "$0.009999",
      "$0.0100",
      "$1.0000",
      "$1.00",
      "$1,234.57",
      "−$0.2500",
    ])
  })

  it('are "unknown" instead of 0 if unknown', () => {
    assert.strictEqual(usd(null), "unknown")
    assert.strictEqual(usd(undefined), "unknown")
  })

  it("are exact in tables and short for chosen amounts", () => {
    assert.strictEqual(usdExact(-1_500_001), "−$1.500001")
    assert.strictEqual(usdPlain(500_000), "$0.50")
    assert.strictEqual(usdPlain(1_234), "$0.001234")
  })
})
