/** Writes the results into docs/reference/performance.md and its chart. */
import { readFileSync, writeFileSync } from "node:fs"
import type { Case } from "./Case.ts"
import { chartOf } from "./chart.ts"
import type { Results } from "./results.ts"
import { summaryOf } from "./table.ts"

const PAGE = new URL("../../docs/reference/performance.md", import.meta.url)
const CHART = new URL("../../docs/images/performance.svg", import.meta.url)
const BEGIN = "<!-- measured: begin -->"
const END = "<!-- measured: end -->"
/** Cases that the page and its chart show; bench/results.json has all. */
const SHOWN = ["completion", "stream", "stream-paced", "jobs"]

export const publish = (cases: ReadonlyArray<Case>, results: Results): void => {
  const page = readFileSync(PAGE, "utf8")
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (begin < 0 || end < begin) throw new Error(`docs/reference/performance.md must contain ${BEGIN} and ${END}.`)
  writeFileSync(
    PAGE,
    `${page.slice(0, begin + BEGIN.length)}\n\n${summaryOf(cases, results, SHOWN)}\n${page.slice(end)}`,
  )
  writeFileSync(CHART, chartOf(results, SHOWN))
}
