/**
 * Models that err alike: nine current ones, as how often each is right on MMLU, how often two of them are right together
 * and how often they give the same wrong answer were measured. What one model answers to the same question again was
 * not, so that is an assumption: 70 % of what is not shared difficulty stays, and so do 85 % of its wrong answers.
 */
import { readFileSync } from "node:fs"
import type { Measurements } from "../src/services/jobs/modes/engine/errorModel.ts"
import { inverseNormal } from "../src/services/jobs/modes/engine/posterior.ts"
import { errorsOf } from "../src/services/jobs/modes/engine/measured.ts"
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

/** What the table says of current models. */
export const measureMmlu = (): Measurements => {
  const { accuracies, pairs } = readPairs()
  return fit(accuracies, pairs)
}

/** Numbers from 0 to 1 that are the same for the same seed (mulberry32). */
const randomFrom = (seed: number) => {
  let state = seed
  return (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/**
 * How often a wrong model falls for the misconception of a question, so that two of them agree as often as was measured:
 * with probability m the misconception and otherwise any of the three wrong letters.
 */
const misconception = (sameWrong: number): number => Math.sqrt(Math.max(0, (sameWrong - 1 / 3) / (2 / 3)))

export const simulated = (count: number, seed = 1): World => {
  const { accuracies } = readPairs()
  const measured = measureMmlu()
  const models = [...accuracies.keys()].toSorted((a, b) => (accuracies.get(b) ?? 0) - (accuracies.get(a) ?? 0))
  const falls = new Map(
    models.map((model) => {
      const own = Object.entries(measured.sameWrong).flatMap(([pair, rate]) =>
        pair.split(" ").includes(model) ? rate : [],
      )
      return [model, misconception(own.reduce((sum, rate) => sum + rate, 0) / own.length)]
    }),
  )
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

/** No strategy asks one model more often about one question. */
const MOST_SAMPLES = 8
