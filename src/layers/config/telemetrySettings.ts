/** OpenTelemetry's standard variables. Their times are in milliseconds. */
import { readFileSync } from "node:fs"
import { Option, Redacted, Schema } from "effect"
import { CountText, FlagText, intText, literalText, parsed, PlainText, UrlText } from "./codecs.ts"
import { optionalSetting, setting } from "./Setting.ts"

const RatioText = parsed(
  Schema.Finite,
  (text) => {
    const ratio = /^(\d+|\d*\.\d+)$/.test(text) ? Number(text) : Number.NaN
    return ratio >= 0 && ratio <= 1 ? ratio : undefined
  },
  "a number from 0 to 1",
)

const pairsIn = Option.liftThrowable((text: string) => {
  const pairs = text.split(",").filter((pair) => pair.trim() !== "")
  // A pair without `=` is no URI component either, so this throws for both mistakes.
  const parts = pairs.map((pair) => /^([^=]+)=(.*)$/s.exec(pair) ?? ["", "", "%"])
  return Redacted.make(
    Object.fromEntries(parts.map(([, name = "", value = ""]) => [name.trim(), decodeURIComponent(value.trim())])),
  )
})

/** Secret, because a header may be a key. */
const PairsText = parsed(
  Schema.Redacted(Schema.Record(Schema.String, Schema.String)),
  (text) => Option.getOrUndefined(pairsIn(text)),
  "pairs such as name=value,name=value, with percent-encoded values",
)

const contentOf = Option.liftThrowable((path: string) => Redacted.make(readFileSync(path, "utf8")))

/** The content of a file, which may be a private key. */
const FileText = parsed(
  Schema.Redacted(Schema.String),
  (path) => Option.getOrUndefined(contentOf(path)),
  "the path of a file that this user may read",
)

const SAMPLERS = ["always_on", "always_off", "traceidratio"] as const
const SamplerText = literalText(...SAMPLERS, ...SAMPLERS.map((name) => `parentbased_${name}` as const))

const MillisText = intText(1, 86_400_000)

const endpoint = (signal: "traces" | "metrics" | "logs") =>
  optionalSetting(
    `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_ENDPOINT`,
    UrlText,
    `Full URL for ${signal}, if they go elsewhere`,
  )

const pemFile = (name: string, what: string) =>
  optionalSetting(`OTEL_EXPORTER_OTLP_${name}`, FileText, `File of ${what}, in PEM`)

export const telemetrySettings = {
  otlpEndpoint: optionalSetting(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    UrlText,
    "OpenTelemetry collector: OTLP over HTTP, usually on port 4318",
  ),
  otlpTracesEndpoint: endpoint("traces"),
  otlpMetricsEndpoint: endpoint("metrics"),
  otlpLogsEndpoint: endpoint("logs"),
  otlpHeaders: setting("OTEL_EXPORTER_OTLP_HEADERS", PairsText, ",", "HTTP headers, as name=value,name=value"),
  otlpTimeoutMs: setting("OTEL_EXPORTER_OTLP_TIMEOUT", MillisText, "10000", "Milliseconds for an export with retries"),
  otlpCompression: setting("OTEL_EXPORTER_OTLP_COMPRESSION", literalText("none", "gzip"), "none", "gzip: compress"),
  otlpCertificate: pemFile("CERTIFICATE", "the certificates to trust instead of the system's"),
  otlpClientKey: pemFile("CLIENT_KEY", "the client certificate's key"),
  otlpClientCertificate: pemFile("CLIENT_CERTIFICATE", "the client certificate"),
  telemetryServiceName: optionalSetting("OTEL_SERVICE_NAME", PlainText, "Name of this service, if not sealgate-…"),
  resourceAttributes: setting(
    "OTEL_RESOURCE_ATTRIBUTES",
    PairsText,
    ",",
    "About this process, as name=value,name=value",
  ),
  tracesExporter: setting("OTEL_TRACES_EXPORTER", literalText("otlp", "none"), "otlp", "none: no traces are sent"),
  metricsExporter: setting(
    "OTEL_METRICS_EXPORTER",
    literalText("otlp", "prometheus", "none"),
    "otlp",
    "prometheus or none: no metrics are pushed",
  ),
  logsExporter: setting("OTEL_LOGS_EXPORTER", literalText("otlp", "none"), "otlp", "none: no log lines are sent"),
  tracesSampler: setting(
    "OTEL_TRACES_SAMPLER",
    SamplerText,
    "parentbased_always_on",
    "Which requests are traced; parentbased: the caller's decision wins",
  ),
  tracesSamplerRatio: setting("OTEL_TRACES_SAMPLER_ARG", RatioText, "1", "Share of requests that traceidratio traces"),
  spanIntervalMs: setting("OTEL_BSP_SCHEDULE_DELAY", MillisText, "5000", "Milliseconds between exports of spans"),
  spanTimeoutMs: setting("OTEL_BSP_EXPORT_TIMEOUT", MillisText, "30000", "Milliseconds for an export of spans"),
  spanBatchSize: setting("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", CountText, "512", "Most spans in an export"),
  spanQueueSize: setting("OTEL_BSP_MAX_QUEUE_SIZE", CountText, "2048", "Most spans that wait; more are dropped"),
  metricIntervalMs: setting(
    "OTEL_METRIC_EXPORT_INTERVAL",
    MillisText,
    "60000",
    "Milliseconds between exports of metrics",
  ),
  telemetryDisabled: setting("OTEL_SDK_DISABLED", FlagText, "false", "true: no telemetry is sent"),
}
