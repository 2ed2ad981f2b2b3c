/**
 * The probability that an answer of several models is right. Models err together: a question that is hard for one is
 * hard for all, and wrong models often give the same wrong answer (Kim, Garg, Peng and Garg 2025, "Correlated Errors
 * in Large Language Models"). So a vote is not a product of accuracies.
 *
 * The model: a question has a difficulty z and, for each model, a quirk u, both standard normal. An answer is right
 * with probability Φ(a + b·z + d·u); all models share b, and the answers of one model share d. A wrong answer repeats
 * an earlier wrong one as often as measured for the two models, or with `SAME_WRONG_ITSELF` for one model.
 */
import { modelOf, sameModel, type TargetName } from "../../../../domain/upstream/targets.ts"
import type { Measurements } from "./errorModel.ts"
import { errorsOf, sameWrongOf } from "./measured.ts"

/** One answer: its author and its group of equal answers. Groups count from 0. */
export interface Vote {
  readonly target: TargetName
  readonly group: number
}

/** The share of variance beyond difficulty that one model's answers have in common. An assumption, not measured. */
const QUIRK = 0.7
/** How often a model that is wrong twice about one question repeats its wrong answer. An assumption, not measured. */
const SAME_WRONG_ITSELF = 0.85

/** Nodes and weights that approximate a standard normal variable: the middles of equally likely slices. */
const NODES = Array.from({ length: 16 }, (_, i) => inverseNormal((i + 0.5) / 16))

/** Returns the probability that each group is right, by its number; the rest to 1 is that none is. */
export const posterior = (measured: Measurements, votes: ReadonlyArray<Vote>): ReadonlyArray<number> => {
  const groups = Math.max(-1, ...votes.map(({ group }) => group)) + 1
  const models = [...Map.groupBy(votes, ({ target }) => modelOf(target)).values()]
  // The last hypothesis has no group: all answers are wrong.
  const joint = Array.from({ length: groups + 1 }, (_, right) => {
    const likelihoods = models.map((own) => ofModel(measured, own, right))
    const hits = mean(NODES.map((z) => product(likelihoods.map((likelihood) => likelihood(z)))))
    const wrong = votes.filter(({ group }) => group !== right)
    return hits * ofErrors(measured, wrong)
  })
  const sum = joint.reduce((sum, each) => sum + each, 0)
  return joint.slice(0, groups).map((each) => each / sum)
}

/** The likelihood, by difficulty, that of one model's answers exactly those in group `right` are right. */
const ofModel = (measured: Measurements, own: ReadonlyArray<Vote>, right: number): ((z: number) => number) => {
  const { accuracy, difficulty } = errorsOf(measured, own[0]?.target.model ?? "")
  const ability = inverseNormal(clamp(accuracy, 0.01, 0.99))
  const shared = Math.sqrt(difficulty)
  const hits = own.filter(({ group }) => group === right).length
  if (own.length === 1) {
    const noise = Math.sqrt(1 - difficulty)
    return (z) => {
      const p = normal((ability + shared * z) / noise)
      return hits === 1 ? p : 1 - p
    }
  }
  const quirk = Math.sqrt((1 - difficulty) * QUIRK)
  const noise = Math.sqrt((1 - difficulty) * (1 - QUIRK))
  return (z) =>
    mean(
      NODES.map((u) => {
        const p = normal((ability + shared * z + quirk * u) / noise)
        return p ** hits * (1 - p) ** (own.length - hits)
      }),
    )
}

/** The likelihood that wrong answers fall into these groups, each given those before it. */
const ofErrors = (measured: Measurements, wrong: ReadonlyArray<Vote>): number => {
  const alike = (a: Vote, b: Vote): number =>
    sameModel(a.target, b.target) ? SAME_WRONG_ITSELF : sameWrongOf(measured, a.target.model, b.target.model)
  return product(
    wrong.slice(1).map((vote, i) => {
      const before = wrong.slice(0, i + 1)
      const joins = (group: ReadonlyArray<Vote>) =>
        (Math.max(...group.map((other) => alike(vote, other))) * group.length) / before.length
      const known = [...Map.groupBy(before, ({ group }) => group).values()]
      const own = known.find((group) => group[0]?.group === vote.group)
      return own === undefined ? 1 - known.reduce((sum, group) => sum + joins(group), 0) : joins(own)
    }),
  )
}

const mean = (values: ReadonlyArray<number>): number => values.reduce((sum, each) => sum + each, 0) / values.length
const product = (values: ReadonlyArray<number>): number => values.reduce((all, each) => all * each, 1)

const clamp = (value: number, minimum: number, maximum: number): number => Math.min(maximum, Math.max(minimum, value))

/** Φ, by formula 26.2.17 of Abramowitz and Stegun: 7 digits. */
export function normal(x: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(x))
  const series = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
  const tail = (Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)) * series
  return x >= 0 ? 1 - tail : tail
}

/** Φ⁻¹ by bisection: exact enough, without coefficients that could be wrong. */
export function inverseNormal(p: number): number {
  let low = -8
  let high = 8
  for (let i = 0; i < 50; i++) {
    const middle = (low + high) / 2
    if (normal(middle) < p) low = middle
    else high = middle
  }
  return (low + high) / 2
}
