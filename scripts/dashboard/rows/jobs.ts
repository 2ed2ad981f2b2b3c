import { graph, type Row } from "../panels.ts"
import { highest, quantile, rate } from "../promql.ts"
import { percentile } from "./requests.ts"

export const jobs: Row = {
  title: "Jobs",
  panels: [
    graph("Waiting and running", "The same number from every process.", "short", {
      queries: [
        { expr: highest("sealgate_job_queue_depth"), legend: "waiting" },
        { expr: highest("sealgate_jobs_open", { where: { status: '="running"' } }), legend: "running" },
      ],
    }),
    graph("Oldest waiting job", "Rising without end: too few workers, or none.", "s", {
      expr: highest("sealgate_job_queue_age_seconds"),
      legend: "age",
      alarm: [60, 300],
    }),
    graph("Enqueued and ended", "Per second.", "ops", {
      queries: [
        { expr: rate("sealgate_jobs_enqueued_total"), legend: "enqueued" },
        { expr: rate("sealgate_jobs_ended_total", { by: ["status"] }), legend: "{{status}}" },
      ],
    }),
    graph("Duration of jobs", "From enqueueing to the end.", "s", {
      queries: [0.5, 0.95].map((q) => ({
        expr: quantile(q, "sealgate_job_duration_seconds", { by: ["mode"] }),
        legend: `${percentile(q)} {{mode}}`,
      })),
    }),
    graph("Duration of steps", "95th percentile.", "s", {
      expr: quantile(0.95, "sealgate_job_step_duration_seconds", { by: ["mode", "status"] }),
      legend: "{{mode}} {{status}}",
    }),
    graph(
      "Trouble",
      "Attempts tried again, jobs taken over from workers that died, steps that need not be repeated.",
      "ops",
      {
        queries: [
          { expr: rate("sealgate_job_retries_total", { by: ["mode"] }), legend: "tried again {{mode}}" },
          { expr: rate("sealgate_job_takeovers_total", { by: ["mode"] }), legend: "taken over {{mode}}" },
          { expr: rate("sealgate_job_steps_replayed_total", { by: ["mode"] }), legend: "steps kept {{mode}}" },
        ],
      },
    ),
  ],
}
