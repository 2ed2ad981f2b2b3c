import { graph, type Row } from "../panels.ts"
import { highest, quantile, rate, total } from "../promql.ts"
import { percentile, requests } from "./requests.ts"

const calls = rate("sealgate_upstream_calls_total")

export const upstream: Row = {
  title: "Upstream",
  panels: [
    graph("Calls", "Retries and failovers included.", "cps", {
      expr: rate("sealgate_upstream_calls_total", { by: ["provider", "outcome"] }),
      legend: "{{provider}} {{outcome}}",
      stacked: true,
    }),
    graph(
      "Errors by kind",
      "`unauthorized`: the key; `rate-limited`: the quota; `unreachable`, `unavailable`, `timeout`: the provider; `slow`: long thoughts.",
      "cps",
      {
        expr: rate("sealgate_upstream_errors_total", { by: ["provider", "kind"] }),
        legend: "{{provider}} {{kind}}",
      },
    ),
    graph("Failed share", "Of each provider's calls.", "percentunit", {
      expr: `${rate("sealgate_upstream_errors_total", { by: ["provider"] })} / ${rate("sealgate_upstream_calls_total", { by: ["provider"] })}`,
      legend: "{{provider}}",
      alarm: [0.05, 0.25],
    }),
    graph("Circuits", "0 closed, 1 half-open, 2 open; the process that is worst off.", "short", {
      expr: highest("sealgate_upstream_circuit_state", { by: ["provider"] }),
      legend: "{{provider}}",
      words: { "0": "closed", "1": "half-open", "2": "open" },
    }),
    graph("Requests that nobody served", "By the code that the caller saw.", "reqps", {
      expr: rate("sealgate_upstream_requests_failed_total", { by: ["code"] }),
      legend: "{{code}}",
    }),
    graph(
      "Second chances",
      "Calls that tried again or took over, targets passed over, and turns of conversations that went elsewhere.",
      "cps",
      {
        queries: [
          { expr: rate("sealgate_upstream_retries_total", { by: ["provider"] }), legend: "retry {{provider}}" },
          { expr: rate("sealgate_upstream_failovers_total", { by: ["provider"] }), legend: "failover to {{provider}}" },
          {
            expr: rate("sealgate_upstream_skips_total", { by: ["provider", "reason"] }),
            legend: "skip {{provider}}: {{reason}}",
          },
          {
            expr: rate("sealgate_upstream_turns_total", { by: ["provider", "affinity"] }),
            legend: "turn {{affinity}} to {{provider}}",
          },
        ],
      },
    ),
    graph("Time to first token", "Of streams.", "s", {
      queries: [0.5, 0.95].map((q) => ({
        expr: quantile(q, "sealgate_upstream_time_to_first_token_seconds", { by: ["provider"] }),
        legend: `${percentile(q)} {{provider}}`,
      })),
    }),
    graph("Duration of calls", "95th percentile.", "s", {
      expr: quantile(0.95, "sealgate_upstream_call_duration_seconds", { by: ["provider", "model"] }),
      legend: "{{provider}} {{model}}",
    }),
    graph("Calls under way", "512 per provider and process are let through by default.", "short", {
      expr: total("sealgate_upstream_calls_in_flight", { by: ["provider"] }),
      legend: "{{provider}}",
    }),
    graph("Tokens", "Per second, as providers report them; cached ones are part of input.", "cps", {
      expr: rate("sealgate_upstream_tokens_total", { by: ["provider", "model", "type"] }),
      legend: "{{provider}} {{model}} {{type}}",
      width: 16,
    }),
    graph("Calls per request", "Above 1: retries, failovers and the calls of jobs.", "short", {
      expr: `${calls} / ${requests}`,
      legend: "calls",
    }),
  ],
}
