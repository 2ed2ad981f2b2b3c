/** Lays out the savings chart in pixels: per interval one bar for the cost and one for the baseline. */

interface Bar {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

interface Pair {
  readonly actual_micro_usd: number
  readonly baseline_micro_usd: number
}

interface Chart {
  readonly plot: { readonly left: number; readonly right: number; readonly top: number; readonly bottom: number }
  readonly ticks: ReadonlyArray<{ readonly y: number; readonly label: string }>
  readonly columns: ReadonlyArray<{
    readonly x: number
    readonly width: number
    readonly actual: Bar
    readonly baseline: Bar
    /** Centre of the label; `undefined` if there is no room. */
    readonly labelX: number | undefined
  }>
}

/** Widest character of an axis label, and the width reserved for a label below the axis. */
const CHARACTER_PX = 7.2
const LABEL_PX = 60
const HALF_LABEL_PX = 21
const TOP_PX = 10
const BOTTOM_PX = 26
const GAP_PX = 8
const RIGHT_PX = 4
const MAX_BAR_PX = 26
const MICRO = 1_000_000
const KILO = 1000 * MICRO

/** The smallest of 1, 2 and 5 times a power of ten that divides `max` into at most `parts` parts. Whole micro-USD. */
export const tickStep = (max: number, parts: number): number => {
  const rough = Math.max(1, max / parts)
  const power = 10 ** Math.floor(Math.log10(rough))
  const factor = [1, 2, 5, 10].find((factor) => factor * power >= rough * (1 - Number.EPSILON)) ?? 10
  return Math.max(1, Math.round(factor * power))
}

/** Formats an amount on the axis, with the decimals that its steps need. */
export const tickLabel = (microUsd: number, step: number): string => {
  if (microUsd === 0) return "$0"
  if (step >= KILO) return `$${(microUsd / KILO).toLocaleString("en-US")}k`
  const decimals = step >= MICRO ? 0 : Math.ceil(-Math.log10(step / MICRO) - 1e-9)
  // Cents always have two decimals.
  return `$${(microUsd / MICRO).toLocaleString("en-US", {
    minimumFractionDigits: decimals === 1 ? 2 : decimals,
    maximumFractionDigits: decimals === 1 ? 2 : decimals,
  })}`
}

export const layOut = (pairs: ReadonlyArray<Pair>, width: number, height: number): Chart => {
  const max = Math.max(1, ...pairs.flatMap((pair) => [pair.actual_micro_usd, pair.baseline_micro_usd]))
  const step = tickStep(max, 4)
  const top = Math.ceil(max / step) * step
  const values = Array.from({ length: Math.round(top / step) + 1 }, (_, i) => i * step)
  const labels = values.map((value) => tickLabel(value, step))
  const left = Math.ceil(Math.max(...labels.map((label) => label.length)) * CHARACTER_PX) + GAP_PX
  const plot = { left, right: Math.max(left + 1, width - RIGHT_PX), top: TOP_PX, bottom: height - BOTTOM_PX }
  const yOf = (value: number) => plot.bottom - (value / top) * (plot.bottom - plot.top)

  const pitch = (plot.right - plot.left) / Math.max(1, pairs.length)
  const barWidth = Math.max(1, Math.min(MAX_BAR_PX, pitch * 0.38))
  const every = Math.max(1, Math.ceil(LABEL_PX / pitch))
  // An amount above zero is always visible.
  const bar = (x: number, value: number): Bar => {
    const height = value === 0 ? 0 : Math.max(1, plot.bottom - yOf(value))
    return { x, y: plot.bottom - height, width: barWidth, height }
  }
  return {
    plot,
    ticks: values.map((value, i) => ({ y: yOf(value), label: labels[i] ?? "" })),
    columns: pairs.map((pair, i) => {
      const x = plot.left + i * pitch
      const middle = x + pitch / 2
      return {
        x,
        width: pitch,
        actual: bar(middle - barWidth, pair.actual_micro_usd),
        baseline: bar(middle, pair.baseline_micro_usd),
        // Labels are counted from the end, because the newest column matters most.
        labelX: (pairs.length - 1 - i) % every === 0 ? Math.min(middle, width - HALF_LABEL_PX) : undefined,
      }
    }),
  }
}
