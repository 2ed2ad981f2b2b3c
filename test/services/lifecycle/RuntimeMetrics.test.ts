/** Gauges that are measured when metrics are read, and counters that exist from the start. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Metric } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { TestClock } from "effect/testing"
import { measure, measureAll } from "../../../src/services/lifecycle/MeasuredGauges.ts"
import { layerRuntimeMetrics } from "../../../src/services/lifecycle/RuntimeMetrics.ts"
import { assertDeclared, parsePrometheus, valueOf } from "../../support/prometheus.ts"

const read = Effect.map(Effect.andThen(measureAll, PrometheusMetrics.format()), parsePrometheus)

/** With metrics of its own. */
const alone = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.provideService(Effect.scoped(effect), Metric.MetricRegistry, new Map())

/** Keeps the event loop busy. */
const block = (millis: number) =>
  Effect.promise(async () => {
    // The sampler measures from its first run on. Timers that are due together run before it, so one wait is not enough.
    for (let waits = 0; waits < 2; waits++) await new Promise((resolve) => setTimeout(resolve, 50))
    const until = performance.now() + millis
    while (performance.now() < until);
    await new Promise((resolve) => setTimeout(resolve, 50))
  })

describe("measurements", () => {
  it.effect("run at each reading until their scope closes", () =>
    alone(
      Effect.gen(function* () {
        let taken = 0
        const count = Effect.sync(() => void taken++)
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* measure(count)
            yield* measureAll
            yield* measureAll
          }),
        )
        yield* measureAll
        assert.strictEqual(taken, 2)
      }),
    ),
  )
})

describe("metrics of the process", () => {
  it.effect("are there with the server, counters that alerts watch at 0", () =>
    alone(
      Effect.gen(function* () {
        yield* Layer.build(layerRuntimeMetrics("proxy"))
        const families = yield* read
        assertDeclared(families)
        assert.isAbove(valueOf(families, "sealgate_process_memory_bytes", { kind: "rss" }), 1e6)
        const age = Date.now() / 1000 - valueOf(families, "sealgate_process_start_time_seconds")
        assert.isAbove(age, 0)
        assert.isBelow(age, 24 * 3600)
        const replayed = families.get("sealgate_openings_failed_total")?.samples ?? []
        assert.deepInclude(replayed, {
          name: "sealgate_openings_failed_total",
          labels: { reason: "replayed" },
          value: 0,
        })
        assert.isFalse(families.has("sealgate_job_takeovers_total"))
      }),
    ),
  )

  it.effect("show a stall to everyone who reads within ten seconds of it, and then forget it", () =>
    alone(
      Effect.gen(function* () {
        yield* Layer.build(layerRuntimeMetrics("gateway"))
        yield* block(1000)
        const lag = Effect.map(read, (families) => valueOf(families, "sealgate_event_loop_lag_seconds"))
        const first = yield* lag
        assert.isAbove(first, 0.5)
        assert.isAtLeast(yield* lag, first)
        yield* TestClock.adjust("10 seconds")
        assert.isAtLeast(yield* lag, first)
        assert.isAtLeast(yield* lag, first)
        yield* TestClock.adjust("10 seconds")
        yield* lag
        assert.isBelow(yield* lag, first)
      }),
    ),
  )
})
