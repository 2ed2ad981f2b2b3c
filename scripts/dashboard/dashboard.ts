import { type Panel, panelJson } from "./panels.ts"
import { jobs } from "./rows/jobs.ts"
import { now } from "./rows/now.ts"
import { server } from "./rows/processes.ts"
import { savings } from "./rows/savings.ts"
import { sealing } from "./rows/sealing.ts"
import { traffic } from "./rows/traffic.ts"
import { upstream } from "./rows/upstream.ts"

/** From the overview to the details. */
const rows = [now, traffic, upstream, sealing, jobs, savings, server]

const COLUMNS = 24
const HEIGHT = { stat: 4, timeseries: 8 } as const

const variable = (name: string, label: string, query: string) => ({
  name,
  label,
  type: "query",
  datasource: { type: "prometheus", uid: "${datasource}" },
  query: { query, refId: name },
  refresh: 2,
  includeAll: true,
  multi: true,
  current: { text: "All", value: "$__all" },
})

/** Lays rows and panels out below each other; each row is as wide as the grid. */
const placed = () => {
  const panels: Array<object> = []
  let y = 0
  let id = 0
  const place = (line: ReadonlyArray<Panel>) => {
    let x = 0
    const h = Math.max(...line.map(({ type }) => HEIGHT[type]))
    for (const panel of line) {
      panels.push(panelJson(panel, ++id, { x, y, w: panel.width, h }))
      x += panel.width
    }
    y += h
  }
  for (const row of rows) {
    panels.push({
      id: ++id,
      type: "row",
      title: row.title,
      collapsed: false,
      gridPos: { x: 0, y, w: COLUMNS, h: 1 },
      panels: [],
    })
    y++
    let line: Array<Panel> = []
    for (const panel of row.panels) {
      if ([...line, panel].reduce((sum, { width }) => sum + width, 0) > COLUMNS) {
        place(line)
        line = []
      }
      line.push(panel)
    }
    place(line)
  }
  return panels
}

/** The file's text. */
export const dashboard = (): string =>
  `${JSON.stringify(
    {
      uid: "sealgate",
      title: "sealgate",
      description: "The sealed proxy and the agent gateway: made by scripts/grafanaDashboard.ts.",
      tags: ["sealgate"],
      schemaVersion: 39,
      editable: true,
      graphTooltip: 1,
      time: { from: "now-6h", to: "now" },
      refresh: "30s",
      templating: {
        list: [
          { name: "datasource", label: "Data source", type: "datasource", query: "prometheus", current: {} },
          variable("job", "Job", "label_values(sealgate_ready, job)"),
          variable("instance", "Instance", 'label_values(sealgate_ready{job=~"$job"}, instance)'),
        ],
      },
      panels: placed(),
    },
    null,
    1,
  )}\n`
