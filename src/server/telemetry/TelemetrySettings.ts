/** Telemetry settings, from OpenTelemetry's variables. */
export interface TelemetrySettings {
  readonly telemetryDisabled: boolean
  readonly otlpEndpoint: URL | undefined
  readonly otlpTracesEndpoint: URL | undefined
  readonly otlpMetricsEndpoint: URL | undefined
  readonly otlpLogsEndpoint: URL | undefined
  readonly tracesExporter: "otlp" | "none"
  readonly metricsExporter: "otlp" | "prometheus" | "none"
  readonly logsExporter: "otlp" | "none"
  readonly tracesSampler:
    | "parentbased_always_on"
    | "parentbased_always_off"
    | "parentbased_traceidratio"
    | "always_on"
    | "always_off"
    | "traceidratio"
  /** The share of traces that the `traceidratio` samplers keep, 0 to 1. */
  readonly tracesSamplerRatio: number
  /** Milliseconds between two exports of metrics. */
  readonly metricExportIntervalMs: number
}

/** A kind of telemetry. Each can have a separate endpoint. */
export type Signal = "traces" | "metrics" | "logs"
