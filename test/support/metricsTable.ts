import { declarations } from "../../src/services/metrics.ts"

/** The metrics as the Markdown table that docs/monitoring.md shows. */
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
