/** Results as Markdown. */
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

/** All results for the page: without medians and spreads of times, and only the missed targets. */
export const summaryOf = (cases: ReadonlyArray<Case>, results: Results): string => {
  const known = cases.flatMap(({ name }) => {
    const result = results[name]
    return result === undefined ? [] : [{ name, ...result }]
  })
  const runs = new Set(known.map(({ measured: { date, machine, node } }) => `${date}, Node ${node}, ${machine}`))
  const targets = known.flatMap(({ figures, name }) =>
    figures
      .filter(({ atLeast, atMost }) => atLeast !== undefined || atMost !== undefined)
      .map((figure) => ({ name, figure })),
  )
  const missed = targets.filter(({ figure }) => !isReached(figure))
  return [
    `Measured ${[...runs].join("; ")}. [bench/results.json](../../bench/results.json) has all results.`,
    "",
    ...head("", "per second", "CPU, ms", "p99, ms"),
    ...known.flatMap(({ measures = [], name, title, unit }) =>
      measures.length === 0
        ? []
        : [
            row(`**${title}** (\`${name}\`; per ${unit.replace(/^an? /, "")})`),
            ...measures.map(({ cpu, p99, perSecond, subject }) => row(subject, ...[perSecond, cpu, p99].map(number))),
          ],
    ),
    "",
    `Of ${targets.length} targets, ${missed.length} are missed:`,
    "",
    ...head("case", "figure", "measured", "target"),
    ...missed.map(({ figure, name }) =>
      row(`\`${name}\``, figure.what, `${number(figure.value)} ${figure.unit}`, targetOf(figure)),
    ),
    "",
  ].join("\n")
}
