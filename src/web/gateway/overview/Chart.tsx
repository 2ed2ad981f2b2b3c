import { useLayoutEffect, useRef } from "preact/hooks"
import uPlot from "uplot"

const HEIGHT = 260
const MAX_BAR_PX = 26
/** Possible numbers of columns from one label to the next. */
const COLUMN_STEPS = [1, 2, 3, 4, 6, 8, 12, 24]

interface ChartSeries {
  readonly label: string
  /** The name of a CSS variable. */
  readonly colour: string
  readonly values: ReadonlyArray<number | null>
}

interface ChartProps {
  /** Says for screen readers what the chart shows. A table with the figures stands beside it. */
  readonly words: string
  readonly columns: ReadonlyArray<string>
  readonly series: readonly [ChartSeries, ChartSeries]
  readonly lines: boolean
  readonly format: (value: number) => string
}

/** Draws two series as pairs of bars or as lines, on a canvas. */
const draw = (box: HTMLElement, { columns, format, lines, series }: ChartProps): uPlot => {
  // A canvas knows no CSS variables, and their values depend on the colour scheme.
  const colour = (name: string) => () => {
    box.style.color = `var(${name})`
    const { color } = getComputedStyle(box)
    box.style.color = ""
    return color
  }
  const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } }
  const bars = (align: -1 | 1) => uPlot.paths.bars?.({ size: [0.36, MAX_BAR_PX], align })
  const width = Math.max(...columns.map((column) => column.length), 1)
  return new uPlot(
    {
      width: box.clientWidth,
      height: HEIGHT,
      scales: {
        x: { time: false, range: [-0.5, columns.length - 0.5] },
        y: { range: (_, __, max) => [0, max > 0 ? max * 1.08 : 1] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          incrs: COLUMN_STEPS,
          space: width * 9,
          values: (_, splits) => splits.map((at) => columns[at] ?? ""),
        },
        { ...axis, size: 76, values: (_, splits) => splits.map(format) },
      ],
      cursor: { drag: { x: false, y: false }, y: false, points: { show: lines } },
      legend: { markers: { width: 0, fill: (_, i) => colour(series[i - 1]?.colour ?? "--muted")() } },
      series: [
        { label: "from", value: (_, at) => columns[at] ?? "–" },
        ...series.map(({ colour: name, label }, i) => ({
          label,
          stroke: colour(name),
          value: (_: uPlot, value: number | null) => (value === null ? "–" : format(value)),
          ...(lines
            ? { width: 2, points: { show: true, size: 6, fill: colour(name) } }
            : { width: 0, fill: colour(name), points: { show: false }, paths: bars(i === 0 ? -1 : 1) ?? (() => null) }),
        })),
      ],
    },
    [columns.map((_, i) => i), ...series.map(({ values }) => [...values])],
    box,
  )
}

export const Chart = (props: ChartProps) => {
  const box = useRef<HTMLDivElement>(null)
  const { columns, series, words } = props
  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return
    const plot = draw(element, props)
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }))
    observer.observe(element)
    const scheme = matchMedia("(prefers-color-scheme: dark)")
    const recolour = () => plot.redraw(false)
    scheme.addEventListener("change", recolour)
    return () => {
      scheme.removeEventListener("change", recolour)
      observer.disconnect()
      plot.destroy()
    }
    // Drawn again if what is shown changed, and not at every render.
  }, [JSON.stringify([columns, series])])
  return <div ref={box} class="chart" role="img" aria-label={words} />
}
