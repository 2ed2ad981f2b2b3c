/** Telemetry settings, from OpenTelemetry's variables. */
import type { Redacted } from "effect"

type Pairs = Readonly<Record<string, string>>

type Sampler = "always_on" | "always_off" | "traceidratio"

export interface TelemetrySettings {
  readonly telemetryDisabled: boolean
  readonly telemetryServiceName: string | undefined
  readonly resourceAttributes: Redacted.Redacted<Pairs>
  readonly otlpEndpoint: URL | undefined
  readonly otlpTracesEndpoint: URL | undefined
  readonly otlpMetricsEndpoint: URL | undefined
  readonly otlpLogsEndpoint: URL | undefined
  readonly otlpHeaders: Redacted.Redacted<Pairs>
  readonly otlpTimeoutMs: number
  readonly otlpCompression: "none" | "gzip"
  /** Contents of PEM files. */
  readonly otlpCertificate: Redacted.Redacted | undefined
  readonly otlpClientKey: Redacted.Redacted | undefined
  readonly otlpClientCertificate: Redacted.Redacted | undefined
  readonly tracesExporter: "otlp" | "none"
  readonly metricsExporter: "otlp" | "prometheus" | "none"
  readonly logsExporter: "otlp" | "none"
  readonly tracesSampler: Sampler | `parentbased_${Sampler}`
  /** The share of traces that the `traceidratio` samplers keep, 0 to 1. */
  readonly tracesSamplerRatio: number
  /** Milliseconds between two exports, unless a batch is full before. */
  readonly spanIntervalMs: number
  readonly spanTimeoutMs: number
  readonly spanBatchSize: number
  readonly spanQueueSize: number
  /** Milliseconds between two exports. */
  readonly metricIntervalMs: number
}

/** A kind of telemetry. Each can have a separate endpoint. */
export type Signal = "traces" | "metrics" | "logs"
