/** Selects the telemetry that is sent to an OpenTelemetry collector, and its URLs. */
import { Effect, Layer } from "effect"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import type { Signal, TelemetrySettings } from "./TelemetrySettings.ts"

/** A signal's URL is used unchanged; the collector's gets the signal's path (OTLP specification, endpoint URLs). */
const endpoint = (base: URL | undefined, own: URL | undefined, signal: Signal): string | undefined =>
  own?.href ?? (base === undefined ? undefined : new URL(`${base.href.replace(/\/$/, "")}/v1/${signal}`).href)

/** The URL of each signal that is to be sent. */
export const endpointsOf = (settings: TelemetrySettings): Readonly<Partial<Record<Signal, string>>> => {
  if (settings.telemetryDisabled) return {}
  const { logsExporter, metricsExporter, otlpEndpoint, tracesExporter } = settings
  return withoutUndefined({
    traces: tracesExporter === "otlp" ? endpoint(otlpEndpoint, settings.otlpTracesEndpoint, "traces") : undefined,
    metrics: metricsExporter === "otlp" ? endpoint(otlpEndpoint, settings.otlpMetricsEndpoint, "metrics") : undefined,
    logs: logsExporter === "otlp" ? endpoint(otlpEndpoint, settings.otlpLogsEndpoint, "logs") : undefined,
  })
}

/** Traces, metrics and logs over OTLP, if an endpoint is set. None carries a prompt, an answer, a key or a token. */
export const layerTelemetry = (settings: TelemetrySettings, serviceName = "sealgate"): Layer.Layer<never> => {
  const endpoints = endpointsOf(settings)
  if (Object.keys(endpoints).length === 0) return Layer.empty
  return Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./OpenTelemetry.ts")),
      ({ layerOpenTelemetry }) => layerOpenTelemetry(endpoints, settings, serviceName),
    ),
  )
}
