/**
 * Simulates nine current models that err alike, from measurements on MMLU: how often each is right, how often two are right
 * together, and how often they give the same wrong answer. Repeated answers of one model were not measured. The assumption:
 * asked again, a model keeps 70 % of its individual luck, and 85 % of its wrong answers.
 */
import { readFileSync } from "node:fs"
import type { Measurements } from "../src/services/jobs/modes/engine/errorModel.ts"
import { inverseNormal } from "../src/services/jobs/modes/engine/posterior.ts"
import { errorsOf, pairName } from "../src/services/jobs/modes/engine/measured.ts"
import { fit, type Pair } from "./fit.ts"
import type { Question, World } from "./World.ts"

const LETTERS = ["A", "B", "C", "D"] as const
const STAYS = 0.7
const REPEATS = 0.85

const readPairs = () => {
  const [, ...lines] = readFileSync(new URL("./data/mmlu-pairs.csv", import.meta.url), "utf8")
    .trim()
    .split("\n")
  const accuracies = new Map<string, number>()
  const pairs = lines.map((line): Pair => {
    const [a = "", b = "", ...figures] = line.split(",").map((cell, i) => (i < 2 ? (cell.split("/")[1] ?? "") : cell))
    const [accuracyA = 0, accuracyB = 0, bothRight = 0, sameWrong = 0] = figures.map(Number)
    accuracies.set(a, accuracyA).set(b, accuracyB)
    return { models: [a, b], bothRight, sameWrong }
  })
  return { accuracies, pairs }
}

export const measureMmlu = (): Measurements => {
  const { accuracies, pairs } = readPairs()
  return fit(accuracies, pairs)
}

/** Seeded random numbers from 0 to 1 (mulberry32). */
const randomFrom = (seed: number) => {
  let state = seed
  return (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const ROUNDS = 100

/**
 * Fits how often a wrong model falls for the question's misconception; otherwise it picks any of the three wrong letters.
 * Two wrong models then agree in 1/3 + 2/3·f·g of the questions. Fits f and g one model at a time.
 */
const misconceptions = (models: ReadonlyArray<string>, { sameWrong }: Measurements): ReadonlyMap<string, number> => {
  const falls = new Map(models.map((model) => [model, 0.7]))
  for (let round = 0; round < ROUNDS; round++) {
    for (const model of models) {
      let product = 0
      let square = 0
      for (const other of models) {
        const same = sameWrong[pairName(model, other)]
        const fall = falls.get(other) ?? 0
        if (same === undefined) continue
        product += (same - 1 / 3) * 1.5 * fall
        square += fall ** 2
      }
      falls.set(model, Math.min(1, Math.max(0, product / square)))
    }
  }
  return falls
}

export const simulated = (count: number, seed = 1): World => {
  const { accuracies } = readPairs()
  const measured = measureMmlu()
  const models = [...accuracies.keys()].toSorted((a, b) => (accuracies.get(b) ?? 0) - (accuracies.get(a) ?? 0))
  const falls = misconceptions(models, measured)
  const random = randomFrom(seed)
  const gauss = () => inverseNormal(Math.min(1 - 1e-9, Math.max(1e-9, random())))
  const questions = Array.from({ length: count }, (_, i): Question => {
    const z = gauss()
    const right = LETTERS[i % LETTERS.length] ?? "A"
    const wrong = LETTERS.filter((letter) => letter !== right)
    const common = wrong[Math.floor(random() * wrong.length)] ?? "A"
    const answers = new Map<string, ReadonlyArray<string>>()
    for (const model of models) {
      const { accuracy, difficulty } = errorsOf(measured, model)
      const ability = inverseNormal(accuracy) + Math.sqrt(difficulty) * z
      const own = gauss()
      const first = random() < (falls.get(model) ?? 0) ? common : (wrong[Math.floor(random() * wrong.length)] ?? "A")
      answers.set(
        model,
        Array.from({ length: MOST_SAMPLES }, (_, nth) => {
          const luck =
            ability + Math.sqrt((1 - difficulty) * STAYS) * own + Math.sqrt((1 - difficulty) * (1 - STAYS)) * gauss()
          if (luck > 0) return right
          return nth === 0 || random() < REPEATS ? first : (wrong[Math.floor(random() * wrong.length)] ?? "A")
        }),
      )
    }
    return {
      id: String(i + 1),
      task: `Question ${i + 1}`,
      right,
      said: (model, nth) => answers.get(model)?.[nth % MOST_SAMPLES] ?? "",
      measured,
    }
  })
  return { name: "simulated", models, questions, resamples: true }
}

/** Most times a strategy asks one model about one question. */
const MOST_SAMPLES = 8
