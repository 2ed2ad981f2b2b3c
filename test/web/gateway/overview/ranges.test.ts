import { assert, describe, it } from "@effect/vitest"
import type { RoutingStats } from "../../../../src/client/gateway/GatewayClient.ts"
import { beginOf, columnLabel, inWords } from "../../../../src/web/gateway/overview/ranges.ts"

describe("ranges", () => {
  it("begin at a full UTC hour or day and end with the current one", () => {
    const now = Date.parse("2026-11-21T12:34:56Z")
    assert.strictEqual(new Date(beginOf("day", now)).toISOString(), "2026-11-20T13:00:00.000Z")
    assert.strictEqual(new Date(beginOf("week", now)).toISOString(), "2026-11-15T00:00:00.000Z")
    assert.strictEqual(new Date(beginOf("month", now)).toISOString(), "2026-10-23T00:00:00.000Z")
    assert.strictEqual(columnLabel("2026-11-20T00:00:00Z", "hour"), "00:00")
    assert.strictEqual(columnLabel("2026-11-20T00:00:00Z", "day"), "Nov 20")
  })

  it("are described in words, savings and losses alike", () => {
    const sums = {
      requests: 1,
      calls: 2,
      failed_calls: 0,
      input_tokens: 1,
      output_tokens: 1,
      cached_tokens: 0,
      unpriced_calls: 0,
      compared_micro_usd: 40_000,
      latency_p50_ms: null,
      latency_p95_ms: null,
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
    assert.include(inWords(stats(10_000), "day"), "The most expensive hour began at 14:00 UTC.")
    assert.include(inWords(stats(-10_000), "day"), "$0.0100 more than the baseline, which is $0.0300")
  })
})
