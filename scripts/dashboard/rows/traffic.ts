import { graph, type Row } from "../panels.ts"
import { quantile, rate } from "../promql.ts"
import { asked, failed, latency, percentile, QUANTILES } from "./requests.ts"

export const traffic: Row = {
  title: "Traffic",
  panels: [
    graph("Requests by route", "Which doors people use.", "reqps", {
      expr: rate("sealgate_http_requests_total", { by: ["method", "route"], where: asked }),
      legend: "{{method}} {{route}}",
      stacked: true,
    }),
    graph("Requests by status", "`aborted`: the caller went away before it had an answer.", "reqps", {
      expr: rate("sealgate_http_requests_total", { by: ["status"], where: asked }),
      legend: "{{status}}",
      stacked: true,
    }),
    graph("Failed share by route", "Statuses of 500 or more.", "percentunit", {
      expr: `${rate("sealgate_http_requests_total", { by: ["route"], where: failed })} / ${rate("sealgate_http_requests_total", { by: ["route"], where: asked })}`,
      legend: "{{route}}",
      alarm: [0.01, 0.05],
    }),
    graph("Latency", "Time to the headers of an answer; long polls of jobs are in it.", "s", {
      queries: QUANTILES.map((q) => ({ expr: latency(q), legend: percentile(q) })),
      width: 12,
    }),
    graph("Latency by route", "95th percentile.", "s", {
      expr: quantile(0.95, "sealgate_http_request_duration_seconds", { by: ["route"], where: asked }),
      legend: "{{route}}",
      width: 12,
    }),
  ],
}
