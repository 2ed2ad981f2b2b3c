/** Results as Markdown. */
import type { Figure, Measure, Outcome } from "./Case.ts"

const number = (value: number): string =>
  value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)

export const isReached = ({ atLeast, atMost, value }: Figure): boolean =>
  (atMost === undefined || value <= atMost) && (atLeast === undefined || value >= atLeast)

const row = (...cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`

const measureRow = ({ cpu, p50, p99, perSecond, spread, subject }: Measure): string =>
  row(subject, number(perSecond), `${number(cpu)} (${spread.map(number).join(" to ")})`, number(p50), number(p99))

const reachOf = ({ atLeast, atMost, unit }: Figure): string =>
  atMost !== undefined ? `≤ ${atMost} ${unit}` : atLeast !== undefined ? `≥ ${atLeast} ${unit}` : "–"

const figureRow = (figure: Figure): string =>
  row(figure.what, `${number(figure.value)} ${figure.unit}`, reachOf(figure), isReached(figure) ? "✓" : "✗")

export const tableOf = (title: string, unit: string, { figures, measures = [] }: Outcome): string =>
  [
    `### ${title}`,
    "",
    ...(measures.length === 0
      ? []
      : [
          row("subject", "per second", `CPU of ${unit}, ms (rounds)`, "p50, ms", "p99, ms"),
          "|---|---|---|---|---|",
          ...measures.map(measureRow),
          "",
        ]),
    row("figure", "measured", "reach", ""),
    "|---|---|---|---|",
    ...figures.map(figureRow),
    "",
  ].join("\n")
