import type { Setting } from "../layers/config/Setting.ts"

/** The settings as lines of help: variable, default, purpose. */
export const describeSettings = (settings: Readonly<Record<string, Setting<unknown>>>): string => {
  const rows = Object.values(settings).map(({ fallback, summary, variable }) => ({
    variable,
    text: fallback === undefined || fallback === "," ? summary : `${summary} (${fallback})`,
  }))
  const width = Math.max(...rows.map(({ variable }) => variable.length))
  return rows.map(({ text, variable }) => `  ${variable.padEnd(width)}  ${text}`).join("\n")
}
