/** Summarizes outcomes: rates with 95 % intervals, and calibration of stated confidences. */
import type { Outcome } from "./strategies.ts"

const Z95 = 1.96

/** Wilson's score interval of a proportion (Wilson 1927). */
export const interval = (hits: number, total: number): readonly [number, number] => {
  if (total === 0) return [0, 1]
  const rate = hits / total
  const spread = Z95 ** 2 / total
  const middle = (rate + spread / 2) / (1 + spread)
  const half = (Z95 * Math.sqrt((rate * (1 - rate)) / total + spread / (4 * total))) / (1 + spread)
  return [Math.max(0, middle - half), Math.min(1, middle + half)]
}

const BINS = 10

/** Expected calibration error over ten bins: mean confidence against the share that was right. */
export const calibrationError = (outcomes: ReadonlyArray<Outcome>): number | undefined => {
  const stated = outcomes.flatMap(({ confidence, right }) => (confidence === undefined ? [] : [{ confidence, right }]))
  if (stated.length === 0) return undefined
  const bins = Map.groupBy(stated, ({ confidence }) => Math.min(BINS - 1, Math.floor(confidence * BINS)))
  return (
    [...bins.values()].reduce(
      (sum, bin) => sum + Math.abs(bin.reduce((off, { confidence, right }) => off + confidence - (right ? 1 : 0), 0)),
      0,
    ) / stated.length
  )
}

export interface Summary {
  readonly name: string
  readonly questions: number
  readonly accuracy: number
  /** Share of answers marked reliable, and share of those that are right. */
  readonly coverage: number
  readonly precision: number | undefined
  readonly precisionInterval: readonly [number, number]
  /** Share of all answers that are wrong but marked reliable. */
  readonly wrongAndSure: number
  readonly calls: number
  readonly tokens: number | undefined
  readonly cost: number | undefined
  readonly calibrationError: number | undefined
}

export const summarize = (name: string, outcomes: ReadonlyArray<Outcome>): Summary => {
  const total = outcomes.length
  const hits = outcomes.filter(({ right }) => right).length
  const sure = outcomes.filter((outcome) => outcome.sure)
  const sureHits = sure.filter(({ right }) => right).length
  const mean = (of: (outcome: Outcome) => number | undefined) => {
    const known = outcomes.flatMap((outcome) => of(outcome) ?? [])
    return known.length < total ? undefined : known.reduce((sum, each) => sum + each, 0) / total
  }
  return {
    name,
    questions: total,
    accuracy: hits / total,
    coverage: sure.length / total,
    precision: sure.length === 0 ? undefined : sureHits / sure.length,
    precisionInterval: interval(sureHits, sure.length),
    wrongAndSure: (sure.length - sureHits) / total,
    calls: mean(({ calls }) => calls) ?? 0,
    tokens: mean(({ tokens }) => tokens),
    cost: mean(({ cost }) => cost),
    calibrationError: calibrationError(outcomes),
  }
}

const UNKNOWN = "–"

const percent = (value: number): string => (value * 100).toFixed(1)
const range = ([low, high]: readonly [number, number]): string => `${percent(low)}–${percent(high)}`
const known = <A>(value: A | undefined, written: (value: A) => string): string =>
  value === undefined ? UNKNOWN : written(value)

const HEAD = ["strategy", "right, %", "relied upon, %", "right of those, %", "calls", "tokens", "micro-USD"]

/** Formats summaries as a Markdown table without columns that have no values; figures are per question. */
export const table = (summaries: ReadonlyArray<Summary>): string => {
  const rows = summaries.map((each) => [
    each.name,
    percent(each.accuracy),
    percent(each.coverage),
    known(each.precision, (precision) => `${percent(precision)} (${range(each.precisionInterval)})`),
    each.calls.toFixed(2),
    known(each.tokens, (tokens) => tokens.toFixed(0)),
    known(each.cost, (cost) => cost.toFixed(0)),
  ])
  const hasValues = (_: string, column: number) => rows.some((cells) => cells[column] !== UNKNOWN)
  return [HEAD, HEAD.map(() => "---"), ...rows].map((cells) => `| ${cells.filter(hasValues).join(" | ")} |`).join("\n")
}
