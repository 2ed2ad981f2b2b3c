/** Traces, metrics and logs over OTLP/HTTP. Imported only when an endpoint is set, because the SDK is slow to load. */
import * as OtelLogger from "@effect/opentelemetry/OtelLogger"
import * as OtelMetrics from "@effect/opentelemetry/OtelMetrics"
import * as OtelTracer from "@effect/opentelemetry/OtelTracer"
import * as Resource from "@effect/opentelemetry/Resource"
import { createTraceState } from "@opentelemetry/api"
import { OTLPLogExporter } from "@opentelemetry/exporter-logs-otlp-http"
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http"
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http"
import { resourceFromAttributes } from "@opentelemetry/resources"
import { BatchLogRecordProcessor, LoggerProvider } from "@opentelemetry/sdk-logs"
import { type CollectionResult, type MetricProducer, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics"
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace-base"
import { Context, Duration, Effect, Layer, Logger, Option, Tracer } from "effect"
import { SOFTWARE } from "../../domain/operations/software.ts"
import { TraceState } from "../../domain/operations/traceContext.ts"
import { measureAll } from "../../services/lifecycle/MeasuredGauges.ts"
import { declarations } from "../../services/metrics.ts"
import { watchExports } from "./exportWatch.ts"
import { discreetLogger } from "./Logging.ts"
import type { Signal, TelemetrySettings } from "./TelemetrySettings.ts"

interface OpenTelemetryOptions {
  readonly endpoints: Readonly<Partial<Record<Signal, string>>>
  readonly serviceName: string
  readonly settings: Pick<TelemetrySettings, "tracesSampler" | "tracesSamplerRatio" | "metricExportIntervalMs">
}

/** How long a shutdown waits for the last telemetry to be sent. */
const FLUSH_PATIENCE = Duration.seconds(3)

/** `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` take precedence. Every process is one instance. */
const layerResource = (serviceName: string) =>
  Layer.effect(
    Resource.Resource,
    Effect.map(Resource.Resource, (fromEnvironment) =>
      resourceFromAttributes({
        "service.name": serviceName,
        "service.version": SOFTWARE.slice(SOFTWARE.indexOf("/") + 1),
        "service.instance.id": crypto.randomUUID(),
      }).merge(fromEnvironment),
    ),
  ).pipe(Layer.provide(Resource.layerFromEnv()))

const samplerOf = ({ tracesSampler, tracesSamplerRatio }: OpenTelemetryOptions["settings"]): Sampler => {
  const root = tracesSampler.endsWith("always_on")
    ? new AlwaysOnSampler()
    : tracesSampler.endsWith("always_off")
      ? new AlwaysOffSampler()
      : new TraceIdRatioBasedSampler(tracesSamplerRatio)
  return tracesSampler.startsWith("parentbased") ? new ParentBasedSampler({ root }) : root
}

interface Closeable {
  readonly shutdown: () => Promise<void>
}

/** Sends the rest, or gives up after a time, so that a collector that hangs does not delay the exit. */
const closing = <A extends Closeable>(make: () => A) =>
  Effect.acquireRelease(Effect.sync(make), (closeable) =>
    Effect.promise(() => closeable.shutdown()).pipe(
      Effect.ignoreCause,
      Effect.interruptible,
      Effect.timeoutOption(FLUSH_PATIENCE),
    ),
  )

/** Converts the caller's `tracestate` to the SDK's form, for samplers and exported spans. */
const withTraceState = (span: Tracer.AnySpan): Tracer.AnySpan => {
  const state = Context.getOrUndefined(span.annotations, TraceState)
  if (span._tag === "Span" || state === undefined) return span
  return { ...span, annotations: Context.add(span.annotations, OtelTracer.OtelTraceState, createTraceState(state)) }
}

const layerTracer = Layer.effect(
  Tracer.Tracer,
  Effect.map(OtelTracer.make, (tracer) =>
    Tracer.make({
      ...tracer,
      span: (options) => tracer.span({ ...options, parent: Option.map(options.parent, withTraceState) }),
    }),
  ),
)

const layerTraces = (url: string, settings: OpenTelemetryOptions["settings"]) =>
  layerTracer.pipe(
    Layer.provide(OtelTracer.layerTracer),
    Layer.provide(
      Layer.effect(
        OtelTracer.OtelTracerProvider,
        Effect.gen(function* () {
          const resource = yield* Resource.Resource
          const exporter = yield* watchExports("traces", url, new OTLPTraceExporter({ url }))
          return yield* closing(
            () =>
              new BasicTracerProvider({
                resource,
                sampler: samplerOf(settings),
                spanProcessors: [new BatchSpanProcessor(exporter)],
              }),
          )
        }),
      ),
    ),
  )

const UNITS: ReadonlyMap<string, string> = new Map(declarations.map(({ name, unit }) => [name, unit]))

/** Adds the units of sealgate's metrics, which Effect's metrics do not carry. */
const withUnits = (result: CollectionResult): CollectionResult => ({
  ...result,
  resourceMetrics: {
    ...result.resourceMetrics,
    scopeMetrics: result.resourceMetrics.scopeMetrics.map((scope) => ({
      ...scope,
      metrics: scope.metrics.map((metric) => ({
        ...metric,
        descriptor: { ...metric.descriptor, unit: UNITS.get(metric.descriptor.name) ?? metric.descriptor.unit },
      })),
    })),
  },
})

const layerMetrics = (url: string, exportIntervalMillis: number) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const context = yield* Effect.context<never>()
      const registry = yield* OtelMetrics.makeProducer()
      const exporter = yield* watchExports("metrics", url, new OTLPMetricExporter({ url, concurrencyLimit: 1 }))
      const producer: MetricProducer = {
        collect: async (options) => {
          await Effect.runPromiseWith(context)(measureAll)
          return withUnits(await registry.collect(options))
        },
      }
      const reader = yield* closing(() => new PeriodicExportingMetricReader({ exporter, exportIntervalMillis }))
      reader.setMetricProducer(producer)
    }),
  )

const layerLogs = (url: string) =>
  Logger.layer([Effect.map(OtelLogger.make, discreetLogger)], { mergeWithExisting: true }).pipe(
    Layer.provide(
      Layer.effect(
        OtelLogger.OtelLoggerProvider,
        Effect.gen(function* () {
          const resource = yield* Resource.Resource
          const exporter = yield* watchExports("logs", url, new OTLPLogExporter({ url }))
          return yield* closing(
            () => new LoggerProvider({ resource, processors: [new BatchLogRecordProcessor({ exporter })] }),
          )
        }),
      ),
    ),
  )

/** Sends the signals that have an endpoint. Exporters take headers, time-outs and the like from `OTEL_*` themselves. */
export const layerOpenTelemetry = ({ endpoints, serviceName, settings }: OpenTelemetryOptions): Layer.Layer<never> =>
  Layer.mergeAll(
    endpoints.traces === undefined ? Layer.empty : layerTraces(endpoints.traces, settings),
    endpoints.metrics === undefined ? Layer.empty : layerMetrics(endpoints.metrics, settings.metricExportIntervalMs),
    endpoints.logs === undefined ? Layer.empty : layerLogs(endpoints.logs),
  ).pipe(Layer.provide(layerResource(serviceName)))
