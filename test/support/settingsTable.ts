import type { Setting } from "../../src/layers/config/Setting.ts"

const defaultOf = ({ fallback }: Setting<unknown>): string =>
  fallback === undefined || fallback === "," ? "none" : `\`${fallback}\``

const namesOf = ({ aliases, variable }: Setting<unknown>): string =>
  [variable, ...aliases].map((name) => `\`${name}\``).join(", ")

/** Settings as the Markdown table that docs/operations.md shows. */
export const settingsTable = (settings: Readonly<Record<string, Setting<unknown>>>): string =>
  [
    "| variable, aliases | default | meaning |",
    "|---|---|---|",
    ...Object.values(settings).map((setting) => `| ${namesOf(setting)} | ${defaultOf(setting)} | ${setting.summary} |`),
  ].join("\n")
