import type { Case, Figure, Measure, Outcome } from "./Case.ts"
import type { Results } from "./results.ts"

const number = (value: number): string =>
  value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)

const isReached = ({ atLeast, atMost, value }: Figure): boolean =>
  (atMost === undefined || value <= atMost) && (atLeast === undefined || value >= atLeast)

const row = (...cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`

const head = (...cells: ReadonlyArray<string>): ReadonlyArray<string> => [
  row(...cells),
  `|${"---|".repeat(cells.length)}`,
]

const measureRow = ({ cpu, p50, p99, perSecond, spread, subject }: Measure): string =>
  row(subject, number(perSecond), `${number(cpu)} (${spread.map(number).join(" to ")})`, number(p50), number(p99))

const targetOf = ({ atLeast, atMost, unit }: Figure): string =>
  atMost !== undefined ? `≤ ${atMost} ${unit}` : atLeast !== undefined ? `≥ ${atLeast} ${unit}` : "–"

const figureRow = (figure: Figure): string =>
  row(figure.what, `${number(figure.value)} ${figure.unit}`, targetOf(figure), isReached(figure) ? "✓" : "✗")

/** One result in full, for the terminal. */
export const tableOf = (title: string, unit: string, { figures, measures = [] }: Outcome): string =>
  [
    `### ${title}`,
    "",
    ...(measures.length === 0
      ? []
      : [
          ...head("subject", "per second", `CPU of ${unit}, ms (rounds)`, "p50, ms", "p99, ms"),
          ...measures.map(measureRow),
          "",
        ]),
    ...head("figure", "measured", "target", ""),
    ...figures.map(figureRow),
    "",
  ].join("\n")

/** Results for the page: figures of the `shown` cases, without medians and spreads of times, and the number of missed targets. */
export const summaryOf = (cases: ReadonlyArray<Case>, results: Results, shown: ReadonlyArray<string>): string => {
  const known = cases.flatMap(({ name }) => {
    const result = results[name]
    return result === undefined ? [] : [{ name, ...result }]
  })
  const runs = new Set(known.map(({ measured: { machine, node } }) => `Node ${node}, ${machine}`))
  const targets = known
    .flatMap(({ figures }) => figures)
    .filter(({ atLeast, atMost }) => atLeast !== undefined || atMost !== undefined)
  const missed = targets.filter((figure) => !isReached(figure)).length
  return [
    `Measured with ${[...runs].join("; ")}. [bench/results.json](../../bench/results.json) has all results, dates and targets.`,
    "",
    ...head("", "per second", "CPU, ms", "p99, ms"),
    ...known.flatMap(({ measures = [], name, title, unit }) =>
      measures.length === 0 || !shown.includes(name)
        ? []
        : [
            row(`**${title}** (\`${name}\`; per ${unit.replace(/^an? /, "")})`),
            ...measures.map(({ cpu, p99, perSecond, subject }) => row(subject, ...[perSecond, cpu, p99].map(number))),
          ],
    ),
    "",
    `Of ${targets.length} targets, ${missed} are missed.`,
    "",
  ].join("\n")
}
