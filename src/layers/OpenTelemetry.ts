/** Traces and metrics over OTLP/HTTP. Imported only when an endpoint is set, because the SDK is slow to load. */
import * as NodeSdk from "@effect/opentelemetry/NodeSdk"
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http"
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http"
import { PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics"
import { BatchSpanProcessor } from "@opentelemetry/sdk-trace-base"
import { SOFTWARE } from "../domain/software.ts"

const [serviceName = "", serviceVersion = ""] = SOFTWARE.split("/")

/** Exporters take endpoint, headers and time-outs from the standard `OTEL_*` variables themselves. */
export const layerOpenTelemetry = NodeSdk.layer(() => ({
  resource: { serviceName, serviceVersion },
  spanProcessor: new BatchSpanProcessor(new OTLPTraceExporter()),
  metricReader: new PeriodicExportingMetricReader({ exporter: new OTLPMetricExporter() }),
}))
