/** Fits how models err together, from how often each pair is right together and wrong alike. */
import type { ErrorModel, Measurements } from "../src/services/jobs/modes/engine/errorModel.ts"
import { pairName } from "../src/services/jobs/modes/engine/measured.ts"
import { inverseNormal, normal } from "../src/services/jobs/modes/engine/posterior.ts"

export interface Pair {
  readonly models: readonly [string, string]
  readonly bothRight: number
  /** Share of the questions that both answered wrongly. */
  readonly sameWrong: number
}

const NODES = Array.from({ length: 32 }, (_, i) => inverseNormal((i + 0.5) / 32))
const SMALLEST_STEP = 0.01
const LOADING = { minimum: 0.1, maximum: 0.98, start: 0.8 }

const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? 0
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2
}

/** Fits the share of each model's errors due to common difficulty: least squares over pairs, one model at a time. */
export const fit = (accuracies: ReadonlyMap<string, number>, pairs: ReadonlyArray<Pair>): Measurements => {
  const names = [...accuracies.keys()]
  const loading = new Map(names.map((name) => [name, LOADING.start]))
  const curve = (name: string, by: number) => {
    const ability = inverseNormal(accuracies.get(name) ?? 0.5)
    return NODES.map((z) => normal((ability + by * z) / Math.sqrt(1 - by * by)))
  }
  const curves = new Map(names.map((name) => [name, curve(name, LOADING.start)]))
  const errorOf = (name: string, own: ReadonlyArray<number>) =>
    pairs.reduce((sum, { bothRight, models: [a, b] }) => {
      if (a !== name && b !== name) return sum
      const other = curves.get(a === name ? b : a) ?? []
      const together = own.reduce((sum, p, i) => sum + p * (other[i] ?? 0), 0) / NODES.length
      return sum + (together - bothRight) ** 2
    }, 0)
  for (let step = LOADING.minimum; step > SMALLEST_STEP;) {
    let better = false
    for (const name of names) {
      for (const change of [step, -step]) {
        const now = loading.get(name) ?? LOADING.start
        const next = Math.min(LOADING.maximum, Math.max(LOADING.minimum, now + change))
        const changed = curve(name, next)
        if (errorOf(name, changed) >= errorOf(name, curves.get(name) ?? []) - 1e-12) continue
        loading.set(name, next)
        curves.set(name, changed)
        better = true
      }
    }
    if (!better) step /= 2
  }
  const rounded = (value: number) => Math.round(value * 1e4) / 1e4
  const models = Object.fromEntries(
    names.map((name): [string, ErrorModel] => [
      name,
      { accuracy: rounded(accuracies.get(name) ?? 0), difficulty: rounded((loading.get(name) ?? 0) ** 2) },
    ]),
  )
  return {
    models,
    sameWrong: Object.fromEntries(pairs.map(({ models: [a, b], sameWrong }) => [pairName(a, b), rounded(sameWrong)])),
    others: {
      accuracy: rounded(median(Object.values(models).map(({ accuracy }) => accuracy))),
      difficulty: rounded(median(Object.values(models).map(({ difficulty }) => difficulty))),
      sameWrong: rounded(median(pairs.map(({ sameWrong }) => sameWrong))),
    },
    judges: {},
  }
}
