/** Builds PromQL. Unknown metrics and labels do not compile. */
import type { Label, MetricName, Named } from "../../src/services/metrics.ts"

/** Matchers by label, each with its operator, such as `{ status: '=~"5.."' }`. */
type Where<Name extends MetricName> = Partial<Readonly<Record<Label<Name>, string>>>

interface Options<Name extends MetricName> {
  readonly where?: Where<Name>
  readonly by?: ReadonlyArray<Label<Name> | "instance">
}

/** Matchers for Grafana's variables. */
const CHOSEN = 'job=~"$job",instance=~"$instance"'

const selector = (name: string, where: object = {}): string =>
  `${name}{${[CHOSEN, ...Object.entries(where).map(([label, matcher]) => `${label}${matcher}`)].join(",")}}`

const sumBy = (labels: ReadonlyArray<string>, inner: string): string =>
  labels.length === 0 ? `sum(${inner})` : `sum by (${labels.join(", ")}) (${inner})`

/** A counter's growth per second. */
export const rate = <Name extends Named<"counter">>(name: Name, { by = [], where }: Options<Name> = {}): string =>
  sumBy(by, `rate(${selector(name, where)}[$__rate_interval])`)

export const increase = <Name extends Named<"counter">>(
  name: Name,
  range: string,
  { by = [], where }: Options<Name> = {},
): string => sumBy(by, `increase(${selector(name, where)}[${range}])`)

/** The sum of a gauge over processes. */
export const total = <Name extends Named<"gauge">>(name: Name, { by = [], where }: Options<Name> = {}): string =>
  sumBy(by, selector(name, where))

/** The maximum over processes: for shared state, and for the worst process. */
export const highest = <Name extends Named<"gauge">>(name: Name, { by = [], where }: Options<Name> = {}): string =>
  by.length === 0 ? `max(${selector(name, where)})` : `max by (${by.join(", ")}) (${selector(name, where)})`

/** Number of processes that report the gauge. */
export const processes = <Name extends Named<"gauge">>(name: Name): string => `count(${selector(name)})`

export const lowest = <Name extends Named<"gauge">>(name: Name): string => `min(${selector(name)})`

/** Number of changes of a gauge within `range`, over all processes. */
export const changes = <Name extends Named<"gauge">>(name: Name, range: string): string =>
  `sum(changes(${selector(name)}[${range}]))`

export const quantile = <Name extends Named<"histogram">>(
  q: number,
  name: Name,
  { by = [], where }: Options<Name> = {},
): string =>
  `histogram_quantile(${q}, ${sumBy(["le", ...by], `rate(${selector(`${name}_bucket`, where)}[$__rate_interval])`)})`

/** One rate as a share of another; 0 if there is no data. */
export const share = (part: string, whole: string): string => `(${part} or vector(0)) / (${whole})`
