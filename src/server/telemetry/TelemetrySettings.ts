/** What telemetry is sent and where to, as OpenTelemetry's own variables say. */
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

/** The signals. Each can have an endpoint of its own. */
export type Signal = "traces" | "metrics" | "logs"
