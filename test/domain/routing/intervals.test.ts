import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  countIntervals,
  Interval,
  intervalAt,
  intervalsOf,
  MAX_INTERVALS,
} from "../../../src/domain/routing/intervals.ts"

const at = (time: string): number => Date.parse(`2026-03-${time}Z`)

describe("intervals", () => {
  it("begin and end with the period, and are whole in between", () => {
    assert.deepStrictEqual(
      intervalsOf(at("28T22:30:00"), at("30T00:00:01"), "day").map(({ from, to }) => [from, to]),
      [
        [at("28T22:30:00"), at("29T00:00:00")],
        [at("29T00:00:00"), at("30T00:00:00")],
        [at("30T00:00:00"), at("30T00:00:01")],
      ],
    )
    assert.deepStrictEqual(
      intervalsOf(at("28T22:00:00"), at("29T00:00:00"), "hour").map(({ from }) => from),
      [at("28T22:00:00"), at("28T23:00:00")],
    )
    assert.deepStrictEqual(intervalsOf(at("28T22:00:00"), at("28T22:00:00"), "hour"), [])
  })

  it("allow 31 days of hours, beginning at any time", () => {
    const month = 31 * 86_400_000
    assert.strictEqual(countIntervals(at("01T00:00:00"), at("01T00:00:00") + month, "hour"), MAX_INTERVALS - 1)
    assert.strictEqual(countIntervals(at("01T00:30:00"), at("01T00:30:00") + month, "hour"), MAX_INTERVALS)
  })

  const Moment = Schema.Int.check(Schema.isBetween({ minimum: -10_000_000, maximum: 100_000_000 }))
  it.prop(
    "have no gaps or overlaps, and match intervalAt for each moment",
    [Moment, Moment, Interval],
    ([a, b, interval]) => {
      const [from, to] = [Math.min(a, b), Math.max(a, b)]
      const parts = intervalsOf(from, to, interval)
      assert.strictEqual(parts.length, countIntervals(from, to, interval))
      let end = from
      for (const part of parts) {
        assert.strictEqual(part.from, end)
        assert.isAbove(part.to, part.from)
        assert.strictEqual(intervalAt(part.from, interval), part.interval)
        assert.strictEqual(intervalAt(part.to - 1, interval), part.interval)
        end = part.to
      }
      assert.strictEqual(end, to)
    },
  )
})
