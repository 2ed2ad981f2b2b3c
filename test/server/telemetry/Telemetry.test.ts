/** Where telemetry goes and what of it is kept, for programs that give their settings themselves. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, ConfigProvider, Effect, Layer, Logger, Tracer } from "effect"
import { proxySettings } from "../../../src/layers/config/proxySettings.ts"
import { decodeSettings } from "../../../src/layers/config/Setting.ts"
import type { TelemetrySettings } from "../../../src/server/telemetry/TelemetrySettings.ts"
import { endpointsOf, layerTelemetry } from "../../../src/server/telemetry/Telemetry.ts"
import { otlpCollector } from "../../support/otlpCollector.ts"
import { testSettings } from "../../support/proxy.ts"

describe("endpoints", () => {
  it.effect("are the collector's URL with each signal's path, or each signal's URL unchanged", () =>
    Effect.gen(function* () {
      const settings: TelemetrySettings = yield* testSettings
      const of = (changes: Partial<TelemetrySettings>) => endpointsOf({ ...settings, ...changes })
      assert.deepStrictEqual(of({}), {})
      const otlpEndpoint = new URL("https://collector.example/otlp/")
      const all = {
        traces: "https://collector.example/otlp/v1/traces",
        metrics: "https://collector.example/otlp/v1/metrics",
        logs: "https://collector.example/otlp/v1/logs",
      }
      assert.deepStrictEqual(of({ otlpEndpoint }), all)
      assert.deepStrictEqual(of({ otlpEndpoint: new URL("https://collector.example/otlp") }), all)
      const otlpLogsEndpoint = new URL("http://logs.example:3100/otlp/push?tenant=a")
      assert.deepStrictEqual(of({ otlpEndpoint, otlpLogsEndpoint }), { ...all, logs: otlpLogsEndpoint.href })
      assert.deepStrictEqual(of({ otlpLogsEndpoint }), { logs: otlpLogsEndpoint.href })
      assert.deepStrictEqual(of({ otlpEndpoint, metricsExporter: "prometheus", logsExporter: "none" }), {
        traces: all.traces,
      })
      assert.deepStrictEqual(of({ otlpEndpoint, otlpLogsEndpoint, telemetryDisabled: true }), {})
    }),
  )
})

it.effect("mistakes in OTEL_* variables are reported with all others", () =>
  Effect.gen(function* () {
    const env = { OTEL_TRACES_SAMPLER: "sometimes", OTEL_TRACES_SAMPLER_ARG: "2", OTEL_METRIC_EXPORT_INTERVAL: "1m" }
    const { mistakes } = yield* decodeSettings(proxySettings).pipe(
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord(env)),
      Effect.flip,
    )
    assert.deepStrictEqual(
      mistakes.map(({ problem, variable }) => [variable, problem.startsWith("expected")]),
      Object.keys(env).map((variable) => [variable, true]),
    )
  }),
)

/** Returns the telemetry of `effect` that a collector gets. */
const sentOf = Effect.fnUntraced(function* (effect: Effect.Effect<unknown>, changes: Partial<TelemetrySettings> = {}) {
  const collector = yield* otlpCollector
  const settings = { ...(yield* testSettings), otlpEndpoint: new URL(collector.url), ...changes }
  yield* Effect.provide(effect, Layer.provide(layerTelemetry(settings), Logger.layer([])))
  return collector
})

describe("the sampler", () => {
  const CHOSEN = "0af7651916cd43dd8448eb211c80319c"
  const under = (sampled: boolean) =>
    Effect.void.pipe(
      Effect.withSpan(sampled ? "chosen" : "spared", {
        parent: Tracer.externalSpan({ traceId: CHOSEN, spanId: "b7ad6b7169203331", sampled }),
      }),
    )
  const spans = Effect.all([Effect.withSpan(Effect.void, "root"), under(true), under(false)])

  for (const [tracesSampler, tracesSamplerRatio, kept] of [
    ["parentbased_always_on", 1, ["chosen", "root"]],
    ["parentbased_always_off", 1, ["chosen"]],
    ["parentbased_traceidratio", 0, ["chosen"]],
    ["parentbased_traceidratio", 1, ["chosen", "root"]],
    ["always_on", 0, ["chosen", "root", "spared"]],
    ["always_off", 1, []],
    ["traceidratio", 0, []],
    ["traceidratio", 1, ["chosen", "root", "spared"]],
  ] as const) {
    it.effect(`${tracesSampler} with ${tracesSamplerRatio} keeps ${kept.join(", ") || "nothing"}`, () =>
      Effect.gen(function* () {
        const collector = yield* sentOf(spans, { tracesSampler, tracesSamplerRatio })
        assert.deepStrictEqual(collector.spans.map(({ name }) => name).sort(), [...kept])
      }),
    )
  }
})

it.effect("an exported log line has its trace, and the type and place of an error but not its message", () =>
  Effect.gen(function* () {
    const cause = Cause.die(new TypeError("canary-defect-4711"))
    const collector = yield* sentOf(
      Effect.logError("it failed", cause).pipe(Effect.annotateLogs({ job: "j1" }), Effect.withSpan("work")),
    )
    const [line] = collector.logs
    assert.deepInclude(line, { body: "it failed", severity: "Error", traceId: collector.spans[0]?.traceId })
    assert.deepInclude(line?.attributes, { job: "j1", "exception.type": "TypeError", "exception.message": "" })
    assert.match(String(line?.attributes["exception.stacktrace"]), /Telemetry\.test\.ts/)
    assert.notInclude(collector.text(), "canary-defect")
  }),
)
