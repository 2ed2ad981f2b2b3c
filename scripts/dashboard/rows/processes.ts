import { graph, type Row } from "../panels.ts"
import { highest, increase, rate, total } from "../promql.ts"

export const server: Row = {
  title: "Processes",
  panels: [
    graph("Event-loop lag", "99th percentile. Above 0.1 s the process has more to do than one core can.", "s", {
      expr: highest("sealgate_event_loop_lag_seconds", { by: ["instance"] }),
      legend: "{{instance}}",
      alarm: [0.1, 0.5],
    }),
    graph("Memory", "Resident, and of it the JavaScript heap.", "bytes", {
      expr: total("sealgate_process_memory_bytes", { by: ["instance", "kind"], where: { kind: '=~"rss|heapUsed"' } }),
      legend: "{{instance}} {{kind}}",
    }),
    graph("Redis", "1 while limits and circuits are shared.", "short", {
      expr: highest("sealgate_redis_up", { by: ["instance"] }),
      legend: "{{instance}}",
    }),
    graph("TLS handshakes refused", "By reason.", "ops", {
      expr: rate("sealgate_tls_clients_refused_total", { by: ["reason"] }),
      legend: "{{reason}}",
    }),
    graph("Certificates reloaded", "Within the hour; a failure leaves the old one in place.", "short", {
      expr: increase("sealgate_tls_reloads_total", "1h", { by: ["outcome"] }),
      legend: "{{outcome}}",
    }),
    graph("Telemetry", "Exports to the collector.", "ops", {
      expr: rate("sealgate_telemetry_exports_total", { by: ["signal", "outcome"] }),
      legend: "{{signal}} {{outcome}}",
    }),
  ],
}
