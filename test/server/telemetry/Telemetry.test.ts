/** Where telemetry goes and what of it is kept, for programs that give their settings themselves. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { Cause, ConfigProvider, Effect, Layer, Logger, Metric, Redacted, Schedule, Tracer } from "effect"
import { proxySettings } from "../../../src/layers/config/proxySettings.ts"
import { decodeSettings } from "../../../src/layers/config/Setting.ts"
import { telemetrySettings } from "../../../src/layers/config/telemetrySettings.ts"
import type { TelemetrySettings } from "../../../src/server/telemetry/TelemetrySettings.ts"
import { endpointsOf, layerTelemetry } from "../../../src/server/telemetry/Telemetry.ts"
import { hasOpenssl } from "../../support/certificates.ts"
import { otlpCollector } from "../../support/otlpCollector.ts"
import { testSettings } from "../../support/proxy.ts"
import { runTlsTerminator } from "../../support/tlsTerminator.ts"

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
    const env = {
      OTEL_EXPORTER_OTLP_HEADERS: "x-api-key",
      OTEL_EXPORTER_OTLP_CLIENT_KEY: "/nowhere/key.pem",
      OTEL_RESOURCE_ATTRIBUTES: "a=%E0%A4%A",
      OTEL_TRACES_SAMPLER: "sometimes",
      OTEL_TRACES_SAMPLER_ARG: "2",
      OTEL_BSP_MAX_QUEUE_SIZE: "many",
      OTEL_METRIC_EXPORT_INTERVAL: "1m",
    }
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

/** Runs `effect` with telemetry, and sends the last of it. */
const sending = <A>(effect: Effect.Effect<A>, settings: TelemetrySettings) =>
  Effect.provide(effect, Layer.provide(layerTelemetry(settings), Logger.layer([])))

/** Returns the telemetry of `effect` that a collector gets. */
const sentOf = Effect.fnUntraced(function* (effect: Effect.Effect<unknown>, changes: Partial<TelemetrySettings> = {}) {
  const collector = yield* otlpCollector
  const settings = { ...(yield* testSettings), otlpEndpoint: new URL(collector.url), ...changes }
  yield* sending(effect, settings)
  return collector
})

it.live("metric exports do not flush spans, which are sent at shutdown", () =>
  Effect.gen(function* () {
    const collector = yield* otlpCollector
    const settings = { ...(yield* testSettings), otlpEndpoint: new URL(collector.url), metricIntervalMs: 20 }
    const manyExports = Effect.sync(() => collector.series.filter(({ name }) => name === "test_exports").length > 3)
    const exported = Effect.gen(function* () {
      yield* Metric.update(Metric.counter("test_exports"), 1)
      yield* Effect.withSpan(Effect.void, "kept")
      yield* Effect.repeat(manyExports, { until: (isTrue) => isTrue, schedule: Schedule.spaced("5 millis") })
      return collector.spans.length
    })
    assert.strictEqual(yield* sending(exported, { ...settings, spanIntervalMs: 600_000 }), 0)
    assert.deepStrictEqual(
      collector.spans.map(({ name }) => name),
      ["kept"],
    )
    // Other tests of this process check that every metric is documented.
  }).pipe(Effect.provideService(Metric.MetricRegistry, new Map())),
)

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

it.effect("the sampler traceidratio decides by the trace's id, and the decision passes on", () =>
  Effect.gen(function* () {
    const tracesSamplerRatio = 0.25
    const traced = (share: string) =>
      Effect.map(Effect.currentSpan, ({ sampled }) => sampled).pipe(
        Effect.orDie,
        Effect.withSpan("child"),
        Effect.withSpan(share, {
          parent: Tracer.externalSpan({ traceId: `${"0".repeat(16)}${share}`, spanId: "b7ad6b7169203331" }),
        }),
      )
    const decisions: Array<boolean> = []
    const shares = ["0000000000000001", "3fffffffffffffff", "4000000000000000", "ffffffffffffffff"]
    const collector = yield* sentOf(
      Effect.forEach(shares, (share) => Effect.map(traced(share), (sampled) => decisions.push(sampled))),
      { tracesSampler: "traceidratio", tracesSamplerRatio },
    )
    assert.deepStrictEqual(decisions, [true, true, false, false])
    assert.deepStrictEqual(
      collector.spans.map(({ name }) => name),
      ["child", shares[0], "child", shares[1]],
    )

    const roots = 2_000
    const root = Effect.withSpan(Effect.void, "root")
    const { spans } = yield* sentOf(Effect.replicateEffect(root, roots), {
      tracesSampler: "parentbased_traceidratio",
      tracesSamplerRatio,
    })
    // Eight standard deviations.
    assert.closeTo(spans.length / roots, tracesSamplerRatio, 0.08)
  }),
)

it.effect("a resource is named by OTEL_SERVICE_NAME, then by OTEL_RESOURCE_ATTRIBUTES", () =>
  Effect.gen(function* () {
    const nameOf = Effect.fnUntraced(function* (env: Readonly<Record<string, string>>) {
      const { resourceAttributes, telemetryServiceName } = yield* decodeSettings(telemetrySettings).pipe(
        Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord(env)),
      )
      const { spans } = yield* sentOf(Effect.withSpan(Effect.void, "root"), {
        resourceAttributes,
        telemetryServiceName,
      })
      return [spans[0]?.resource["service.name"], spans[0]?.resource["team"]]
    })
    const OTEL_RESOURCE_ATTRIBUTES = "service.name=attribute, team=a%2Cb%3D"
    assert.deepStrictEqual(yield* nameOf({}), ["sealgate", undefined])
    assert.deepStrictEqual(yield* nameOf({ OTEL_RESOURCE_ATTRIBUTES }), ["attribute", "a,b="])
    assert.deepStrictEqual(yield* nameOf({ OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME: "own" }), ["own", "a,b="])
  }),
)

describe("a collector", () => {
  it.live("that is overloaded gets the same spans again", () =>
    Effect.gen(function* () {
      const collector = yield* otlpCollector
      collector.become({ status: 503 })
      const settings = { ...(yield* testSettings), otlpTracesEndpoint: new URL(`${collector.url}/v1/traces`) }
      const work = Effect.gen(function* () {
        yield* Effect.withSpan(Effect.void, "root")
        yield* Effect.promise(() => collector.until(() => collector.requests[0]))
        collector.become("well")
      })
      yield* sending(work, { ...settings, spanIntervalMs: 10 })
      assert.deepStrictEqual([collector.requests.length, collector.spans.map(({ name }) => name)], [2, ["root"]])
    }),
  )

  it.live("that hangs gets a few exports, and the spans beyond the queue are dropped", () =>
    Effect.gen(function* () {
      const collector = yield* otlpCollector
      collector.become("hangs")
      const settings = { ...(yield* testSettings), otlpTracesEndpoint: new URL(`${collector.url}/v1/traces`) }
      yield* sending(
        Effect.gen(function* () {
          for (let i = 0; i < 200; i++) yield* Effect.withSpan(Effect.void, `span ${i}`)
          yield* Effect.promise(() => collector.until(() => (collector.requests.length === 3 ? true : undefined)))
        }),
        { ...settings, spanBatchSize: 10, spanQueueSize: 20, otlpTimeoutMs: 1_500 },
      )
      assert.strictEqual(collector.requests.length, 3)
    }),
  )

  it.live.skipIf(!hasOpenssl)("is trusted by OTEL_EXPORTER_OTLP_CERTIFICATE, instead of the system's", () =>
    Effect.gen(function* () {
      const collector = yield* otlpCollector
      const { certificate, url } = yield* runTlsTerminator(Number(new URL(collector.url).port))
      const settings = { ...(yield* testSettings), otlpTracesEndpoint: new URL("/v1/traces", url) }
      yield* sending(Effect.withSpan(Effect.void, "refused"), { ...settings, otlpTimeoutMs: 200 })
      const otlpCertificate = Redacted.make(readFileSync(certificate.cert, "utf8"))
      yield* sending(Effect.withSpan(Effect.void, "trusted"), { ...settings, otlpCertificate })
      assert.deepStrictEqual(
        collector.spans.map(({ name }) => name),
        ["trusted"],
      )
    }),
  )
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
