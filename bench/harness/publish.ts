/** Writes what was measured where it is read: the tables of docs/performance.md and its chart. */
import { readFileSync, writeFileSync } from "node:fs"
import type { Case } from "./Case.ts"
import { chartOf } from "./chart.ts"
import type { Results } from "./results.ts"
import { tableOf } from "./table.ts"

const PAGE = new URL("../../docs/performance.md", import.meta.url)
const CHART = new URL("../../docs/images/performance.svg", import.meta.url)
const BEGIN = "<!-- measured: begin -->"
const END = "<!-- measured: end -->"
const CHARTED = ["completion", "stream", "stream-paced", "jobs"]

export const publish = (cases: ReadonlyArray<Case>, results: Results): void => {
  const tables = cases.flatMap(({ name }) => {
    const result = results[name]
    if (result === undefined) return []
    const { date, machine, node } = result.measured
    return [`${tableOf(result.title, result.unit, result)}\n\`${name}\`, ${date}, Node ${node}, ${machine}\n`]
  })
  const page = readFileSync(PAGE, "utf8")
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (begin < 0 || end < begin) throw new Error(`docs/performance.md lacks ${BEGIN} and ${END}.`)
  writeFileSync(PAGE, `${page.slice(0, begin + BEGIN.length)}\n\n${tables.join("\n")}\n${page.slice(end)}`)
  writeFileSync(CHART, chartOf(results, CHARTED))
}
