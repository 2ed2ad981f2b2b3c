/** Gauges of the process, and counters at 0. */
import { monitorEventLoopDelay } from "node:perf_hooks"
import { Clock, Effect, Layer, Metric } from "effect"
import { gauge, showInitial } from "../metrics.ts"
import { measure } from "./MeasuredGauges.ts"

const lag = gauge("sealgate_event_loop_lag_seconds")()
const memory = gauge("sealgate_process_memory_bytes")
const memoryKinds = ["rss", "heapUsed", "heapTotal", "external", "arrayBuffers"] as const
const startTime = gauge("sealgate_process_start_time_seconds")()

const RESOLUTION_MS = 20

/** Delays are kept for at least this many milliseconds, so that several readers see the same ones. */
const WINDOW_MS = 10_000

/** Measures the process whenever metrics are read, and starts the counters of this kind of server at 0. */
export const layerRuntimeMetrics = (server: "proxy" | "gateway") =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      yield* showInitial(server)
      const delays = yield* Effect.acquireRelease(
        Effect.sync(() => {
          const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
          histogram.enable()
          return histogram
        }),
        (histogram) => Effect.sync(() => histogram.disable()),
      )
      let windowBegan = yield* Clock.currentTimeMillis
      let before = 0

      const lagSeconds = (now: number): number => {
        const p99 = delays.percentile(99) / 1e9 - RESOLUTION_MS / 1000
        const current = Number.isFinite(p99) ? Math.max(0, p99) : 0
        const shown = Math.max(before, current)
        if (now - windowBegan >= WINDOW_MS) {
          delays.reset()
          windowBegan = now
          before = current
        }
        return shown
      }

      yield* Metric.update(startTime, performance.timeOrigin / 1000)
      yield* measure(
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const usage = process.memoryUsage()
          return Effect.all(
            [
              Metric.update(lag, lagSeconds(now)),
              ...memoryKinds.map((kind) => Metric.update(memory({ kind }), usage[kind])),
            ],
            { discard: true },
          )
        }),
      )
    }),
  )
