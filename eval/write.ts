/** Writes the measurements into the source and into docs/explanation/modes.md. */
import { readFileSync, writeFileSync } from "node:fs"
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import type { Measurements } from "../src/services/jobs/modes/engine/errorModel.ts"

const pathOf = (name: string): string => fileURLToPath(new URL(`../${name}`, import.meta.url))

const formatted = (path: string) => spawnSync("node_modules/.bin/oxfmt", [path], { cwd: pathOf("."), stdio: "inherit" })

const BEGIN = "<!-- eval -->"

/** Replaces the table of docs/explanation/modes.md, between `<!-- eval -->` and `<!-- /eval -->`. */
export const writeTable = (table: string): void => {
  const path = pathOf("docs/explanation/modes.md")
  const text = readFileSync(path, "utf8")
  const from = text.indexOf(BEGIN)
  const to = text.indexOf("<!-- /eval -->", from)
  if (from < 0 || to < 0) throw new Error("docs/explanation/modes.md has no place for the table.")
  writeFileSync(path, `${text.slice(0, from + BEGIN.length)}\n\n${table}\n\n${text.slice(to)}`)
}

export const writeMeasurements = (measurements: Measurements): void => {
  const path = pathOf("src/services/jobs/modes/engine/measurements.ts")
  writeFileSync(
    path,
    `/**
 * Written by \`npm run eval -- --write\`, from eval/data/mmlu-pairs.csv; the judges by \`npm run eval -- --live\`.
 */
import type { Measurements } from "./errorModel.ts"

export const MEASUREMENTS: Measurements = ${JSON.stringify(measurements, undefined, 2)}
`,
  )
  formatted(path)
}
