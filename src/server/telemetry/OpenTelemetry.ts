/** Traces, metrics and logs over OTLP/HTTP, by Effect's exporters. Imported only when an endpoint is set. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { ConfigProvider, Duration, Effect, Layer, Logger, Option, Redacted, Tracer } from "effect"
import { HttpClient } from "effect/http"
import { OtlpExporter, OtlpLogger, OtlpMetrics, OtlpSerialization, OtlpTracer } from "effect/observability"
import { SOFTWARE } from "../../domain/operations/software.ts"
import { traceContextOf } from "../../domain/operations/traceContext.ts"
import { measureAll } from "../../services/lifecycle/MeasuredGauges.ts"
import { declarations } from "../../services/metrics.ts"
import { makeCollectorClient } from "./collectorClient.ts"
import { discreetLogger } from "./Logging.ts"
import type { Signal, TelemetrySettings } from "./TelemetrySettings.ts"

/** Every process is one instance. */
const resourceOf = ({ resourceAttributes, telemetryServiceName }: TelemetrySettings, defaultName: string) => {
  const attributes: Readonly<Record<string, string>> = {
    "service.version": SOFTWARE.slice(SOFTWARE.indexOf("/") + 1),
    "service.instance.id": crypto.randomUUID(),
    ...Redacted.value(resourceAttributes),
  }
  return { serviceName: telemetryServiceName ?? attributes["service.name"] ?? defaultName, attributes }
}

/** Whether to keep a span. `decided` is the decision about its parent, if it has one. */
const isSampled = ({ tracesSampler, tracesSamplerRatio }: TelemetrySettings, traceId: string, decided?: boolean) => {
  if (decided !== undefined && tracesSampler.startsWith("parentbased")) return decided
  if (!tracesSampler.endsWith("traceidratio")) return tracesSampler.endsWith("always_on")
  // 52 bits of the random id, which the SDKs of Go and Python compare too, so that all keep the same traces.
  return Number.parseInt(traceId.slice(16, 29), 16) / 2 ** 52 < tracesSamplerRatio
}

/** An attribute that carries a span's `tracestate` to {@link layerSerialization}; Effect's spans have no such member. */
const TRACE_STATE = "sealgate.tracestate"

const sampling = (tracer: Tracer.Tracer, settings: TelemetrySettings): Tracer.Tracer =>
  Tracer.make({
    span: (options) => {
      const span = tracer.span(options)
      const parent = Option.getOrUndefined(options.parent)
      // `undefined` if the parent stands for a trace without spans.
      const context = parent === undefined ? undefined : traceContextOf(parent)
      if (context?.tracestate !== undefined) span.attribute(TRACE_STATE, context.tracestate)
      const decided = context === undefined ? undefined : parent?.sampled
      return Object.assign(span, { sampled: isSampled(settings, span.traceId, decided) })
    },
  })

const UNITS: ReadonlyMap<string, string> = new Map(declarations.map(({ name, unit }) => [name, unit]))

/** JSON with the spans' `tracestate` and the units of sealgate's metrics, which Effect's exporters lack. */
const layerSerialization = Layer.effect(
  OtlpSerialization.OtlpSerialization,
  Effect.map(OtlpSerialization.OtlpSerialization, (json) => ({
    ...json,
    traces: (data) => {
      for (const { spans } of data.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans)) {
        for (const span of spans) {
          const at = span.attributes.findIndex(({ key }) => key === TRACE_STATE)
          if (at >= 0) Object.assign(span, { traceState: span.attributes.splice(at, 1)[0]?.value.stringValue })
        }
      }
      return json.traces(data)
    },
    metrics: (data) => {
      for (const { metrics } of data.resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics)) {
        for (const metric of metrics) metric.unit = UNITS.get(metric.name) ?? "1"
      }
      return json.metrics(data)
    },
  })),
).pipe(Layer.provide(OtlpSerialization.layerJson))

/** Exports of logs or metrics at a time. */
const MAX_EXPORTS = 5

/** Sends the signals that have an endpoint. A shutdown waits three seconds for the rest, as Effect's exporters do. */
export const layerOpenTelemetry = (
  endpoints: Readonly<Partial<Record<Signal, string>>>,
  settings: TelemetrySettings,
  defaultName: string,
): Layer.Layer<never> => {
  const common = {
    resource: resourceOf(settings, defaultName),
    headers: Redacted.value(settings.otlpHeaders),
    compression: settings.otlpCompression,
  }

  const client = (signal: Signal, url: string, timeoutMs = settings.otlpTimeoutMs, maxExports = MAX_EXPORTS) =>
    Effect.provideServiceEffect(HttpClient.HttpClient, makeCollectorClient({ signal, url, timeoutMs, maxExports }))

  const layerTraces = (url: string) => {
    const { otlpTimeoutMs, spanBatchSize, spanIntervalMs, spanTimeoutMs, spanQueueSize } = settings
    const timeoutMs = Math.min(otlpTimeoutMs, spanTimeoutMs)
    return Layer.effect(
      Tracer.Tracer,
      OtlpTracer.make({ ...common, url, exportInterval: spanIntervalMs, maxBatchSize: spanBatchSize }).pipe(
        client("traces", url, timeoutMs, 1 + Math.floor(spanQueueSize / spanBatchSize)),
        Effect.map((tracer) => sampling(tracer, settings)),
      ),
    )
  }

  const layerMetrics = (url: string) =>
    Layer.effectDiscard(
      Effect.gen(function* () {
        const { flush } = yield* OtlpExporter.Flusher
        yield* client("metrics", url)(OtlpMetrics.make({ ...common, url, exportInterval: Duration.infinity }))
        // A separate timer, because gauges are measured before each export.
        yield* Effect.sleep(settings.metricIntervalMs).pipe(
          Effect.andThen(Effect.ignoreCause(measureAll)),
          Effect.andThen(flush),
          Effect.forever,
          Effect.forkScoped,
        )
      }),
      // A separate flusher: at the end, an interrupted flush of spans or logs would lose them.
    ).pipe(Layer.provide(Layer.fresh(OtlpExporter.layerFlusher)))

  const layerLogs = (url: string) =>
    Logger.layer([OtlpLogger.make({ ...common, url }).pipe(client("logs", url), Effect.map(discreetLogger))], {
      mergeWithExisting: true,
    })

  const { logs, metrics, traces } = endpoints
  const [ca, cert, key] = [settings.otlpCertificate, settings.otlpClientCertificate, settings.otlpClientKey].map(
    (file) => (file === undefined ? undefined : Redacted.value(file)),
  )
  return Layer.mergeAll(
    traces === undefined ? Layer.empty : layerTraces(traces),
    metrics === undefined ? Layer.empty : layerMetrics(metrics),
    logs === undefined ? Layer.empty : layerLogs(logs),
  ).pipe(
    Layer.provide([
      layerSerialization,
      OtlpExporter.layerFlusher,
      NodeHttpClient.layerNodeHttpOptions({ keepAlive: true, ca, cert, key }),
      // The exporters would read `OTEL_*` variables again.
      ConfigProvider.layer(ConfigProvider.fromEnvRecord({})),
    ]),
  )
}
