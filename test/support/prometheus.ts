/** A strict parser of the Prometheus text format, version 0.0.4: rejects everything that may break a scraper. */
import { assert } from "@effect/vitest"
import { declarations } from "../../src/services/metrics.ts"

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

interface Family {
  readonly name: string
  readonly type: "counter" | "gauge" | "histogram" | "summary"
  readonly help: string | undefined
  readonly samples: ReadonlyArray<Sample>
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/y
const VALUE = /^(?:[+-]?Inf|NaN|[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/
const TYPES = ["counter", "gauge", "histogram", "summary"] as const

const fail = (line: string, problem: string): never => {
  throw new Error(`${problem}: ${line}`)
}

const labelsOf = (text: string, line: string): Readonly<Record<string, string>> => {
  const labels: Record<string, string> = {}
  for (LABEL.lastIndex = 0; LABEL.lastIndex < text.length;) {
    const [, name = "", value = ""] = LABEL.exec(text) ?? fail(line, "labels that do not parse")
    if (name in labels) fail(line, `label ${name} twice`)
    labels[name] = value.replace(/\\(.)/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped))
  }
  return labels
}

const sampleOf = (line: string): Sample => {
  const [, name = "", labels = "", value = ""] =
    /^([^\s{]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? fail(line, "not a sample")
  if (!NAME.test(name)) fail(line, "not a metric name")
  if (!VALUE.test(value)) fail(line, "not a value")
  return { name, labels: labelsOf(labels, line), value: Number(value.replace("Inf", "Infinity")) }
}

const keyOf = ({ labels, name }: Sample, without?: string): string =>
  JSON.stringify([name, ...Object.entries(labels).filter(([label]) => label !== without)].sort())

/** Requires buckets that never fall and end with `+Inf`, which equals the count. */
const checkHistogram = (family: Family): void => {
  const series = new Map<string, Array<Sample>>()
  for (const sample of family.samples) {
    if (sample.name !== `${family.name}_bucket`) continue
    const key = keyOf(sample, "le")
    series.set(key, [...(series.get(key) ?? []), sample])
  }
  const counts = new Map(
    family.samples
      .filter(({ name }) => name === `${family.name}_count`)
      .map((sample) => [keyOf({ ...sample, name: `${family.name}_bucket` }), sample.value]),
  )
  const sums = family.samples.filter(({ name }) => name === `${family.name}_sum`)
  if (counts.size !== series.size || sums.length !== series.size) fail(family.name, "a series without count or sum")
  for (const [key, buckets] of series) {
    const bounds = buckets.map(({ labels }) => Number((labels["le"] ?? "").replace("Inf", "Infinity")))
    if (bounds.some((bound, i) => Number.isNaN(bound) || bound <= (bounds[i - 1] ?? -Infinity))) {
      fail(key, "bounds that do not rise")
    }
    if (buckets.some(({ value }, i) => value < (buckets[i - 1]?.value ?? 0))) fail(key, "buckets that fall")
    if (bounds.at(-1) !== Infinity || buckets.at(-1)?.value !== counts.get(key)) fail(key, "+Inf that is not the count")
  }
}

const SUFFIXES = {
  counter: [""],
  gauge: [""],
  histogram: ["_bucket", "_sum", "_count"],
  summary: ["", "_sum", "_count"],
}

/** Returns the families of an exposition; throws on any format error. */
export const parsePrometheus = (text: string): ReadonlyMap<string, Family> => {
  if (text !== "" && !text.endsWith("\n")) throw new Error("no newline at the end")
  const families = new Map<string, Family & { readonly samples: Array<Sample> }>()
  const helps = new Map<string, string>()
  const seen = new Set<string>()
  let current: (Family & { readonly samples: Array<Sample> }) | undefined
  for (const line of text.split("\n").slice(0, -1)) {
    const [, kind, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? []
    if (kind === "HELP") {
      if (helps.has(name)) fail(line, "HELP twice")
      helps.set(name, rest)
    } else if (kind === "TYPE") {
      const type = TYPES.find((type) => type === rest) ?? fail(line, "unknown type")
      if (families.has(name)) fail(line, "TYPE twice")
      current = { name, type, help: helps.get(name), samples: [] }
      families.set(name, current)
    } else if (!line.startsWith("#")) {
      const sample = sampleOf(line)
      const family = current ?? fail(line, "a sample before any TYPE")
      if (!SUFFIXES[family.type].some((suffix) => sample.name === family.name + suffix)) {
        fail(line, "a sample that is not of the family above it")
      }
      const key = keyOf(sample)
      if (seen.has(key)) fail(line, "the same series twice")
      seen.add(key)
      if (family.type === "counter" && !(sample.value >= 0)) fail(line, "a counter below zero")
      family.samples.push(sample)
    }
  }
  for (const family of families.values()) if (family.type === "histogram") checkHistogram(family)
  return families
}

/** The current metrics of a server, as its operator reads them. */
export const scrape = async (server: { readonly operatorUrl: string }): Promise<ReadonlyMap<string, Family>> =>
  parsePrometheus(await (await fetch(`${server.operatorUrl}/metrics`)).text())

/** The sum of a metric's samples that have these labels. */
export const valueOf = (
  families: ReadonlyMap<string, Family>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number =>
  (families.get(name)?.samples ?? [])
    .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
    .reduce((sum, { value }) => sum + value, 0)

/** Asserts that every family is declared, with exactly its labels. */
export const assertDeclared = (families: ReadonlyMap<string, Family>): void => {
  const declared = new Map(declarations.map((declaration) => [declaration.name, declaration]))
  for (const { help, name, samples, type } of families.values()) {
    const declaration = declared.get(name)
    assert.strictEqual(declaration?.type, type, name)
    assert.strictEqual(declaration?.meaning, help, name)
    for (const { labels } of samples) {
      const names = Object.keys(labels).filter((label) => label !== "le")
      assert.deepStrictEqual(names.sort(), [...(declaration?.labels ?? [])].sort(), name)
    }
  }
}
