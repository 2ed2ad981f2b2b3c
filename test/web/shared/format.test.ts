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
} from "../../../src/web/shared/format.ts"

describe("percent", () => {
  it("formats signs readably, and a missing baseline in words", () => {
    assert.deepStrictEqual([62.849, -3, 0, null].map(percent), ["62.8 %", "−3.0 %", "0.0 %", "no baseline"])
    assert.deepStrictEqual([0.8, null].map(fraction), ["0.80", "none given"])
  })
})

describe("durations and ages", () => {
  it("formats durations in the unit that fits", () => {
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

  it("formats ages, also when the clocks differ", () => {
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

describe("excerpt", () => {
  it("cuts texts to one line at whole characters", () => {
    assert.strictEqual(excerpt("  a\n\n b  ", 5), "a b")
    assert.strictEqual(excerpt("one two three", 8), "one two…")
    assert.strictEqual(excerpt("👩👩👩", 2), "👩…")
    assert.strictEqual(shortId("01890a5d-ac96-774b-bcce-b302099a8057"), "01890a5d…8057")
    assert.deepStrictEqual([plural(1, "job"), plural(2000, "job")], ["1 job", "2,000 jobs"])
  })
})
