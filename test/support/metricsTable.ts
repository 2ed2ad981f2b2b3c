import { declarations } from "../../src/services/metrics.ts"

/** Returns the metrics as the Markdown table of docs/monitoring.md. */
export const metricsTable = (): string =>
  [
    "| name | type | labels | meaning |",
    "|---|---|---|---|",
    ...declarations.map(({ labels, meaning, name, server, type }) =>
      ["", `\`${name}\``, type, labels.join(", "), server === undefined ? meaning : `${server}: ${meaning}`, ""]
        .join(" | ")
        .trim(),
    ),
  ].join("\n")
