/** OpenTelemetry's standard variables that its SDK does not read itself. Their times are in milliseconds. */
import { FlagText, intText, literalText, parsed, UrlText } from "./codecs.ts"
import { Schema } from "effect"
import { optionalSetting, setting } from "./Setting.ts"

const RatioText = parsed(
  Schema.Finite,
  (text) => {
    const ratio = /^(\d+|\d*\.\d+)$/.test(text) ? Number(text) : Number.NaN
    return ratio >= 0 && ratio <= 1 ? ratio : undefined
  },
  "a number from 0 to 1",
)

export const telemetrySettings = {
  otlpEndpoint: optionalSetting(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    UrlText,
    "OpenTelemetry collector: OTLP over HTTP, usually on port 4318",
  ),
  otlpTracesEndpoint: optionalSetting(
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    UrlText,
    "Full URL for traces, if they go elsewhere",
  ),
  otlpMetricsEndpoint: optionalSetting(
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
    UrlText,
    "Full URL for metrics, if they go elsewhere",
  ),
  otlpLogsEndpoint: optionalSetting(
    "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
    UrlText,
    "Full URL for logs, if they go elsewhere",
  ),
  tracesExporter: setting("OTEL_TRACES_EXPORTER", literalText("otlp", "none"), "otlp", "none: no traces are sent"),
  metricsExporter: setting(
    "OTEL_METRICS_EXPORTER",
    literalText("otlp", "prometheus", "none"),
    "otlp",
    "prometheus or none: no metrics are sent",
  ),
  logsExporter: setting("OTEL_LOGS_EXPORTER", literalText("otlp", "none"), "otlp", "none: no log lines are sent"),
  tracesSampler: setting(
    "OTEL_TRACES_SAMPLER",
    literalText(
      "parentbased_always_on",
      "parentbased_always_off",
      "parentbased_traceidratio",
      "always_on",
      "always_off",
      "traceidratio",
    ),
    "parentbased_always_on",
    "Which requests are traced; parentbased: the caller's decision wins",
  ),
  tracesSamplerRatio: setting(
    "OTEL_TRACES_SAMPLER_ARG",
    RatioText,
    "1",
    "Share of requests that traceidratio samplers trace",
  ),
  metricExportIntervalMs: setting(
    "OTEL_METRIC_EXPORT_INTERVAL",
    intText(1, 86_400_000),
    "60000",
    "Milliseconds between exports of metrics",
  ),
  telemetryDisabled: setting("OTEL_SDK_DISABLED", FlagText, "false", "true: no telemetry is sent"),
}
