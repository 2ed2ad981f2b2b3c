import { graph, type Row } from "../panels.ts"
import { increase, rate, total } from "../promql.ts"

export const sealing: Row = {
  title: "Sealing",
  panels: [
    graph("Sessions alive", "Each holds one key in memory.", "short", {
      expr: total("sealgate_sessions_live", { by: ["instance"] }),
      legend: "{{instance}}",
    }),
    graph("Sessions begun and ended", "`evicted`: SESSION_MAX_LIVE is too small for the load.", "ops", {
      queries: [
        { expr: rate("sealgate_sessions_created_total"), legend: "begun" },
        { expr: rate("sealgate_sessions_ended_total", { by: ["reason"] }), legend: "{{reason}}" },
      ],
    }),
    graph(
      "Not opened",
      "`replayed` and `unopenable` in numbers are an attack or a broken client; `session-gone` follows a restart.",
      "ops",
      {
        expr: rate("sealgate_openings_failed_total", { by: ["reason"] }),
        legend: "{{reason}}",
      },
    ),
    graph("Sealed responses", "By form and how they ended.", "ops", {
      expr: rate("sealgate_sealed_responses_total", { by: ["form", "status"] }),
      legend: "{{form}} {{status}}",
      width: 12,
      stacked: true,
    }),
    graph("Replays", "Sealed requests that came a second time, per hour.", "short", {
      expr: increase("sealgate_openings_failed_total", "1h", { by: ["instance"], where: { reason: '="replayed"' } }),
      legend: "{{instance}}",
      width: 6,
    }),
    graph("Frames sealed", "Per second.", "ops", {
      expr: rate("sealgate_frames_sealed_total"),
      legend: "frames",
      width: 6,
    }),
  ],
}
