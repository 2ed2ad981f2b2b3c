import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { layOut, tickLabel, tickStep } from "../../../src/web/gateway/chart.ts"
import { beginOf, columnLabel, inWords } from "../../../src/web/gateway/ranges.ts"
import type { RoutingStats } from "../../../src/client/GatewayClient.ts"

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
        // What would be less than a pixel is drawn as one.
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

describe("ranges", () => {
  it("begin with a whole UTC hour or day and end with the one that is going on", () => {
    const now = Date.parse("2026-11-21T12:34:56Z")
    assert.strictEqual(new Date(beginOf("day", now)).toISOString(), "2026-11-20T13:00:00.000Z")
    assert.strictEqual(new Date(beginOf("week", now)).toISOString(), "2026-11-15T00:00:00.000Z")
    assert.strictEqual(new Date(beginOf("month", now)).toISOString(), "2026-10-23T00:00:00.000Z")
    assert.strictEqual(columnLabel("2026-11-20T00:00:00Z", "hour"), "00:00")
    assert.strictEqual(columnLabel("2026-11-20T00:00:00Z", "day"), "Nov 20")
  })

  it("are told in words, savings and losses alike", () => {
    const sums = {
      requests: 1,
      calls: 2,
      failed_calls: 0,
      input_tokens: 1,
      output_tokens: 1,
      cached_tokens: 0,
      unpriced_calls: 0,
      compared_micro_usd: 40_000,
    }
    const stats = (saved: number): RoutingStats => ({
      ...sums,
      from: "2026-11-20T13:00:00Z",
      to: "2026-11-21T12:34:56Z",
      actual_micro_usd: 40_000,
      baseline_micro_usd: 40_000 + saved,
      saved_micro_usd: saved,
      saved_percent: 25,
      by_mode: [],
      by_provider_model: [],
      by_strategy: [],
      price_table: { version: "1", as_of: "2026-01-01" },
      method: "",
      over_time: [
        {
          ...sums,
          from: "2026-11-20T14:00:00Z",
          to: "2026-11-20T15:00:00Z",
          actual_micro_usd: 40_000,
          baseline_micro_usd: 1,
          saved_micro_usd: 0,
          saved_percent: null,
        },
      ],
    })
    assert.include(inWords(stats(10_000), "day"), "$0.0100 less than the baseline (25.0 %)")
    assert.include(inWords(stats(10_000), "day"), "The dearest hour began at 14:00 UTC.")
    assert.include(inWords(stats(-10_000), "day"), "$0.0100 more than the baseline, which is $0.0300")
  })
})
