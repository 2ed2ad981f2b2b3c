/** Panels in Grafana's JSON model. */

export interface Query {
  readonly expr: string
  /** Grafana legend template: `{{route}}`. */
  readonly legend?: string
}

export type Unit = "reqps" | "cps" | "ops" | "s" | "percentunit" | "short" | "bytes" | "currencyUSD" | "dtdurations"

export interface Panel {
  readonly type: "timeseries" | "stat"
  readonly title: string
  readonly description: string
  readonly unit: Unit
  readonly queries: ReadonlyArray<Query>
  /** Width in the grid's 24 columns. */
  readonly width: number
  /** Thresholds of orange and red; descending if lower is worse. */
  readonly alarm?: readonly [orange: number, red: number]
  readonly stacked?: boolean
  /** Text shown in place of values. */
  readonly words?: Readonly<Record<string, string>>
}

export interface Row {
  readonly title: string
  readonly panels: ReadonlyArray<Panel>
}

/** A panel's queries, or its only one, and how it differs from others of its type. */
type Shown = Partial<Pick<Panel, "width" | "alarm" | "stacked" | "words">> & (Query | Pick<Panel, "queries">)

const panelOf =
  (type: Panel["type"], width: number) =>
  (title: string, description: string, unit: Unit, shown: Shown): Panel => ({
    type,
    title,
    description,
    unit,
    width,
    queries: "expr" in shown ? [shown] : shown.queries,
    ...shown,
  })

/** One number. */
export const stat = panelOf("stat", 3)
/** Lines over time. */
export const graph = panelOf("timeseries", 8)

const DATASOURCE = { type: "prometheus", uid: "${datasource}" }

const thresholds = (alarm: Panel["alarm"]) => {
  if (alarm === undefined) return { mode: "absolute", steps: [{ color: "green", value: null }] }
  const [orange, red] = alarm
  return {
    mode: "absolute",
    steps:
      orange <= red
        ? [
            { color: "green", value: null },
            { color: "orange", value: orange },
            { color: "red", value: red },
          ]
        : [
            { color: "red", value: null },
            { color: "orange", value: red },
            { color: "green", value: orange },
          ],
  }
}

const mappings = (words: Panel["words"]) =>
  words === undefined
    ? []
    : [
        {
          type: "value",
          options: Object.fromEntries(Object.entries(words).map(([value, text]) => [value, { text }])),
        },
      ]

export const panelJson = (
  { alarm, description, queries, stacked, title, type, unit, words }: Panel,
  id: number,
  gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number },
) => ({
  id,
  type,
  title,
  description,
  datasource: DATASOURCE,
  gridPos,
  targets: queries.map(({ expr, legend }, i) => ({
    refId: String.fromCharCode("A".charCodeAt(0) + i),
    datasource: DATASOURCE,
    expr,
    ...(type === "stat" ? { instant: true } : {}),
    ...(legend === undefined ? {} : { legendFormat: legend }),
  })),
  fieldConfig: {
    defaults: {
      unit,
      min: 0,
      color: { mode: type === "stat" ? "thresholds" : "palette-classic" },
      thresholds: thresholds(alarm),
      mappings: mappings(words),
      ...(type === "stat"
        ? {}
        : {
            custom: {
              fillOpacity: stacked === true ? 40 : 10,
              showPoints: "never",
              thresholdsStyle: { mode: alarm === undefined ? "off" : "dashed" },
              stacking: { mode: stacked === true ? "normal" : "none" },
            },
          }),
    },
    overrides: [],
  },
  options:
    type === "stat"
      ? { colorMode: "background", graphMode: "none", reduceOptions: { calcs: ["lastNotNull"] } }
      : {
          legend: { displayMode: "table", placement: "bottom", calcs: ["lastNotNull", "max"] },
          tooltip: { mode: "multi" },
        },
})
