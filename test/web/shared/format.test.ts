import { assert, describe, it } from "@effect/vitest"
import {
  age,
  between,
  duration,
  excerpt,
  fraction,
  moment,
  percent,
  plural,
  shortId,
  usd,
  usdExact,
  usdPlain,
} from "../../../src/web/shared/format.ts"

describe("amounts", () => {
  it("have as many decimals as there is something to see, and never more than a micro-USD", () => {
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

  it("are unknown when they are, and not nothing", () => {
    assert.strictEqual(usd(null), "unknown")
    assert.strictEqual(usd(undefined), "unknown")
  })

  it("are exact in tables and short where somebody chose them", () => {
    assert.strictEqual(usdExact(-1_500_001), "−$1.500001")
    assert.strictEqual(usdPlain(500_000), "$0.50")
    assert.strictEqual(usdPlain(1_234), "$0.001234")
  })

  it("have percentages with a sign that reads, or none", () => {
    assert.deepStrictEqual([62.849, -3, 0, null].map(percent), ["62.8 %", "−3.0 %", "0.0 %", "no baseline"])
    assert.deepStrictEqual([0.8, null].map(fraction), ["0.80", "none given"])
  })
})

describe("times", () => {
  it("take as long as they take", () => {
    const written = [-5, 0, 999, 1000, 59_999, 61_000, 3_600_000, 90_000_000].map(duration)
    assert.deepStrictEqual(written, [
      "0 ms",
      "0 ms",
      "999 ms",
      "1.0 s",
      "59.9 s",
      "1 min 1 s",
      "1 h 0 min",
      "25 h 0 min",
    ])
    assert.strictEqual(between("2026-01-01T00:00:00.000Z", "2026-01-01T00:00:01.500Z"), 1500)
  })

  it("are so long ago, also when the clocks differ", () => {
    const now = Date.parse("2026-11-21T12:00:00Z")
    const ago = (ms: number) => age(new Date(now - ms).toISOString(), now)
    assert.deepStrictEqual([-9000, 4999, 59_000, 3_599_000, 47 * 3_600_000, 48 * 3_600_000].map(ago), [
      "just now",
      "just now",
      "59 s ago",
      "59 min ago",
      "47 h ago",
      "2 days ago",
    ])
    assert.strictEqual(moment("2026-11-21T12:00:59.999Z"), "2026-11-21 12:00 UTC")
  })
})

describe("texts", () => {
  it("are cut on one line, at whole characters", () => {
    assert.strictEqual(excerpt("  a\n\n b  ", 5), "a b")
    assert.strictEqual(excerpt("one two three", 8), "one two…")
    assert.strictEqual(excerpt("👩👩👩", 2), "👩…")
    assert.strictEqual(shortId("01890a5d-ac96-774b-bcce-b302099a8057"), "01890a5d…8057")
    assert.deepStrictEqual([plural(1, "job"), plural(2000, "job")], ["1 job", "2,000 jobs"])
  })
})
