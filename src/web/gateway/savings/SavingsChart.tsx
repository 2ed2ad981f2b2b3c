import { useLayoutEffect, useRef, useState } from "preact/hooks"
import type { RoutingStats } from "../../../client/gateway/GatewayClient.ts"
import { usd } from "../../../domain/routing/dollars.ts"
import { layOut } from "./chartLayout.ts"
import { columnLabel, inWords, type Range, RANGES } from "./ranges.ts"
import { SavingsTable } from "./SavingsTable.tsx"

const HEIGHT = 260

/** The width of an element, now and whenever it changes. */
const useWidth = () => {
  const box = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return
    const measure = () => setWidth(Math.floor(element.clientWidth))
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    measure()
    return () => observer.disconnect()
  }, [])
  return { box, width }
}

type Part = NonNullable<RoutingStats["over_time"]>[number]

const Readout = ({ part, range }: { readonly part: Part | undefined; readonly range: Range }) => (
  <p class="small muted readout" aria-hidden="true">
    {part === undefined
      ? "Times are UTC; the last column is still going on."
      : `${columnLabel(part.from, RANGES[range].interval)} UTC: ${usd(part.actual_micro_usd)} actual, ` +
        `${usd(part.baseline_micro_usd)} baseline, ${usd(part.saved_micro_usd)} saved`}
  </p>
)

export const SavingsChart = ({ range, stats }: { readonly stats: RoutingStats; readonly range: Range }) => {
  const { box, width } = useWidth()
  const [pointed, setPointed] = useState<number>()
  const parts = stats.over_time ?? []
  const { interval, label } = RANGES[range]
  const { columns, plot, ticks } = layOut(parts, width, HEIGHT)

  return (
    <figure class="card stack tight">
      <figcaption class="view-head">
        <h3>
          Cost per {interval}, {label}
        </h3>
        <ul class="legend small" aria-label="Legend">
          <li>
            <span class="swatch actual" aria-hidden="true" /> actual
          </li>
          <li>
            <span class="swatch baseline" aria-hidden="true" /> at the baseline
          </li>
        </ul>
      </figcaption>
      <div ref={box} class="chart-box">
        {width > 0 && (
          <svg
            class="chart"
            width={width}
            height={HEIGHT}
            role="img"
            aria-labelledby="chart-title chart-words"
            onPointerLeave={() => setPointed(undefined)}
          >
            <title id="chart-title">Actual and baseline cost per {interval}</title>
            <desc id="chart-words">{inWords(stats, range)}</desc>
            {ticks.map(({ label, y }) => (
              <g key={label}>
                <line class="grid" x1={plot.left} x2={plot.right} y1={y} y2={y} />
                <text class="axis" x={plot.left - 8} y={y} text-anchor="end" dominant-baseline="central">
                  {label}
                </text>
              </g>
            ))}
            {columns.map((column, i) => {
              const part = parts[i]
              if (part === undefined) return null
              return (
                <g key={part.from} onPointerEnter={() => setPointed(i)}>
                  <rect
                    class={pointed === i ? "column pointed" : "column"}
                    x={column.x}
                    y={plot.top}
                    width={column.width}
                    height={plot.bottom - plot.top}
                  />
                  <rect class="bar actual" {...column.actual} />
                  <rect class="bar baseline" {...column.baseline} />
                  {column.labelX !== undefined && (
                    <text class="axis" x={column.labelX} y={plot.bottom + 18} text-anchor="middle">
                      {columnLabel(part.from, interval)}
                    </text>
                  )}
                </g>
              )
            })}
          </svg>
        )}
      </div>
      <Readout part={pointed === undefined ? undefined : parts[pointed]} range={range} />
      <details>
        <summary>The same as a table</summary>
        <SavingsTable parts={parts} interval={interval} />
      </details>
    </figure>
  )
}
