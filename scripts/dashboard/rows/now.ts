import { stat, type Row } from "../panels.ts"
import { changes, highest, lowest, processes, rate, share, total } from "../promql.ts"
import { failed, latency, requests } from "./requests.ts"

export const now: Row = {
  title: "Now",
  panels: [
    stat("Not ready", "Processes whose /ready is not 200. On the operator's listener its body says why.", "short", {
      expr: `${processes("sealgate_ready")} - ${total("sealgate_ready")}`,
      alarm: [1, 2],
    }),
    stat("Requests", "Requests per second, probes and scrapes aside.", "reqps", { expr: requests }),
    stat("Failed", "Share of requests answered with a status of 500 or more.", "percentunit", {
      expr: share(rate("sealgate_http_requests_total", { where: failed }), requests),
      alarm: [0.01, 0.05],
    }),
    stat("Slow", "95th percentile of the time to the headers of an answer.", "s", {
      expr: latency(0.95),
      alarm: [10, 30],
    }),
    stat(
      "Circuits open",
      "Providers of which nothing can be called at the moment, in the process that is worst off.",
      "short",
      {
        expr: `count(${highest("sealgate_upstream_circuit_state", { by: ["provider"] })} == 2) or vector(0)`,
        alarm: [1, 2],
      },
    ),
    stat("Oldest job", "How long the oldest waiting job has waited.", "s", {
      expr: highest("sealgate_job_queue_age_seconds"),
      alarm: [60, 300],
    }),
    stat("Certificate", "Until the certificate that expires first does.", "dtdurations", {
      expr: `${lowest("sealgate_tls_certificate_expires_at_seconds")} - time()`,
      alarm: [1_209_600, 259_200],
    }),
    stat("Restarts", "Processes that started anew within the last hour.", "short", {
      expr: changes("sealgate_process_start_time_seconds", "1h"),
      alarm: [1, 3],
    }),
  ],
}
