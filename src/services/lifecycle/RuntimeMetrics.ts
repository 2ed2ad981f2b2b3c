/** Gauges of the process itself, brought up to date whenever they are read. */
import { monitorEventLoopDelay } from "node:perf_hooks"
import { Context, Effect, Layer, Metric } from "effect"

const lag = Metric.gauge("sealgate_event_loop_lag_seconds", {
  description: "99th percentile of the event loop's delay since the last reading",
})
const memory = Metric.gauge("sealgate_process_memory_bytes", { description: "Memory of the process, by kind" })
const memoryKinds = ["rss", "heapUsed", "heapTotal", "external", "arrayBuffers"] as const

/** Resolution of the event-loop sampler in milliseconds. */
const RESOLUTION_MS = 20

export class RuntimeMetrics extends Context.Service<
  RuntimeMetrics,
  {
    readonly refresh: Effect.Effect<void>
  }
>()("sealgate/services/lifecycle/RuntimeMetrics") {
  static readonly layer = Layer.effect(
    RuntimeMetrics,
    Effect.gen(function* () {
      const histogram = yield* Effect.acquireRelease(
        Effect.sync(() => {
          const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
          histogram.enable()
          return histogram
        }),
        (histogram) => Effect.sync(() => histogram.disable()),
      )
      return RuntimeMetrics.of({
        refresh: Effect.suspend(() => {
          const usage = process.memoryUsage()
          const p99 = histogram.percentile(99) / 1e9
          histogram.reset()
          return Effect.all(
            [
              Metric.update(lag, Number.isFinite(p99) ? Math.max(0, p99 - RESOLUTION_MS / 1000) : 0),
              ...memoryKinds.map((kind) => Metric.update(Metric.withAttributes(memory, { kind }), usage[kind])),
            ],
            { discard: true },
          )
        }),
      })
    }),
  )
}
