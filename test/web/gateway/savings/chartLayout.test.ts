import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { layOut, tickLabel, tickStep } from "../../../../src/web/gateway/savings/chartLayout.ts"

const Amount = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000_000_000_000 }))
const Pairs = Schema.Array(Schema.Struct({ actual_micro_usd: Amount, baseline_micro_usd: Amount })).check(
  Schema.isMinLength(1),
  Schema.isMaxLength(32),
)
const Width = Schema.Int.check(Schema.isBetween({ minimum: 240, maximum: 1400 }))

describe("the axis", () => {
  it("has round steps and labels that tell them apart", () => {
    const axis = (max: number) => {
      const step = tickStep(max, 4)
      return [step, 2 * step].map((value) => tickLabel(value, step))
    }
    assert.deepStrictEqual([1, 7, 350, 98_000, 390_000, 4_000_000, 39_000_000, 9_000_000_000].map(axis), [
      ["$0.000001", "$0.000002"],
      ["$0.000002", "$0.000004"],
      ["$0.0001", "$0.0002"],
      ["$0.05", "$0.10"],
      ["$0.10", "$0.20"],
      ["$1", "$2"],
      ["$10", "$20"],
      ["$5k", "$10k"],
    ])
    assert.strictEqual(tickLabel(0, 1), "$0")
  })
})

describe("the chart", () => {
  it.prop(
    "keeps every bar and label inside, and heights in the proportion of the amounts",
    [Pairs, Width],
    ([pairs, width]) => {
      const { columns, plot, ticks } = layOut(pairs, width, 260)
      assert.isAtMost(plot.right, width)
      assert.isAbove(plot.left, 0)
      assert.isAtMost(ticks.length, 6)
      assert.strictEqual(new Set(ticks.map(({ label }) => label)).size, ticks.length)
      for (const { y } of ticks) assert.isTrue(y >= plot.top - 1e-6 && y <= plot.bottom + 1e-6)
      const perPixel = columns.flatMap((column, i) => {
        const pair = pairs[i]
        assert.isDefined(pair)
        for (const bar of [column.actual, column.baseline]) {
          assert.isTrue(bar.x >= plot.left - 1e-6 && bar.x + bar.width <= plot.right + 1e-6)
          assert.isTrue(bar.y >= plot.top - 1e-6 && Math.abs(bar.y + bar.height - plot.bottom) < 1e-6)
        }
        assert.isAtMost(column.actual.x + column.actual.width, column.baseline.x + 1e-6)
        const bars = [
          [column.actual.height, pair.actual_micro_usd],
          [column.baseline.height, pair.baseline_micro_usd],
        ] as const
        for (const [height, value] of bars) assert.strictEqual(height === 0, value === 0)
        // Smaller bars are drawn one pixel high.
        return bars.flatMap(([height, value]) => (height > 1 ? [value / height] : []))
      })
      for (const scale of perPixel) assert.closeTo(scale, perPixel[0] ?? 0, (perPixel[0] ?? 0) * 1e-6)
      const labels = columns.flatMap(({ labelX }) => (labelX === undefined ? [] : [labelX]))
      assert.isAtLeast(labels.length, 1)
      labels.slice(1).forEach((x, i) => assert.isAtLeast(x - (labels[i] ?? 0), 34))
      assert.isAtMost(labels.at(-1) ?? 0, width - 21)
    },
  )
})
