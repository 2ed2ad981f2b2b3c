/**
 * The verified mode: it collects answers of different models to the same task until the posterior of one is high
 * enough (after "Optimal stopping" of self-consistency, arXiv:2511.02603; Wang et al. 2022, arXiv:2203.11171). Only if
 * answers differ does it pay for factored chain of verification (Dhuliawala et al. 2023, arXiv:2309.11495): models
 * that have not seen the answers answer questions about them, and a judge is asked in both orders.
 */
import { Effect } from "effect"
import { DEFAULT_EFFORT, type Effort } from "../../../../domain/jobs/modes/description.ts"
import {
  type Check,
  MORE_LIKELY_THAN_NOT,
  SURE,
  verified as mode,
  type VerifiedResult,
} from "../../../../domain/jobs/modes/verified.ts"
import { atTier } from "../../../../domain/jobs/step.ts"
import { sameModel, type TargetName } from "../../../../domain/upstream/targets.ts"
import { spanned } from "../../../spans.ts"
import type { JobContext } from "../../JobProgram.ts"
import { type Asking, counts, isEcho, type ModelAnswer } from "../engine/Asking.ts"
import { escalated, notesOf } from "../engine/Cascade.ts"
import { Measured } from "../engine/measured.ts"
import type { MaxCalls } from "../engine/highestCost.ts"
import { Ballot } from "./Ballot.ts"
import { prompts } from "./prompts.ts"
import { Comparison, MAX_QUESTIONS, Questions, Reconciliation } from "./schemas.ts"

interface Plan {
  /** Maximum number of answers besides the draft. */
  readonly samples: number
  /** The probability at which no further answer is collected. */
  readonly sure: number
  /** Whether to collect an answer that can only change the leader, and to verify if answers differ. */
  readonly thorough: boolean
}

const EFFORTS: Readonly<Record<Effort, Omit<Plan, "samples">>> = {
  low: { sure: SURE, thorough: false },
  medium: { sure: SURE, thorough: true },
  high: { sure: 0.95, thorough: true },
}

const planOf = ({ agent, options }: Pick<JobContext, "agent" | "options">): Plan => {
  const effort = options.effort ?? agent.default_effort ?? DEFAULT_EFFORT
  return { samples: options.samples ?? mode.depth[effort], ...EFFORTS[effort] }
}

/** Maximum number of calls. A question for JSON may be asked twice. */
export const maxCalls = (job: Pick<JobContext, "agent" | "options">): MaxCalls => {
  const { samples, thorough } = planOf(job)
  return {
    perTier: { proposer: 1 + samples, critic: 0, judge: 2 * samples },
    // Questions and their answers; reconciliation in two orders and the comparison of a correction; the correction.
    besides: thorough
      ? { proposer: 1, critic: 2 + MAX_QUESTIONS, judge: 2 * 2 + 2 }
      : { proposer: 0, critic: 0, judge: 0 },
  }
}

export const run = Effect.fnUntraced(function* (context: JobContext, asking: Asking) {
  const plan = planOf(context)
  const { ballot, draft, tier } = (yield* escalated((tier) => sampled(asking, plan, tier))).result

  const first = ballot.leader
  const open = plan.thorough && ballot.isSplit && first !== undefined && first.probability < SURE
  const { checks, correction, others, refuted } = open ? yield* decided(asking, ballot, tier) : NOTHING
  const corrected = correction !== undefined

  // If the judge found all answers wrong in both orders, the correction replaces them.
  const leader = corrected ? ballot.at(correction.group) : ballot.leader
  const final = leader?.said ?? draft
  const probability = leader !== undefined && ballot.isCompared ? leader.probability : null
  const replaced = final !== draft
  const independent = corrected
    ? !sameModel(correction.judge, final.target)
    : leader !== undefined && ballot.behind(leader.group).length > 1
  const found = verdictOf({ probability, replaced, refuted, corrected })
  // One model that agrees with itself, or corrects itself, has settled nothing.
  const isAlone = !independent && (found === "verified" || found === "corrected")
  const result: VerifiedResult = {
    mode: "verified",
    answer: final.text,
    verdict: isAlone ? "inconclusive" : found,
    confidence: probability,
    independent,
    agreement: leader === undefined ? 0 : ballot.agreement(leader.group),
    answers: ballot.candidates,
    checks: checks.map(({ fits, ...check }): Check => ({
      ...check,
      consistent: fits === null || leader === undefined ? null : fits.includes(leader.group + 1),
    })),
    ...notesOf({
      tier,
      cut: final.cut,
      echo: isEcho(draft) || others.some(isEcho),
      alone: isAlone,
      more: noteOf(refuted, corrected),
    }),
  }
  return result
}, spanned("modes.verified"))

const noteOf = (refuted: boolean, corrected: boolean): string | undefined => {
  if (!refuted) return undefined
  return corrected
    ? "All answers were found wrong; this one was written from the findings and not verified again."
    : "All answers were found wrong, and no better one was given; the answer is the most probable of them."
}

/** Collects a draft and further answers until one is probable enough or no further answer could change the outcome. */
const sampled = Effect.fnUntraced(function* (asking: Asking, plan: Plan, tier: number) {
  const ballot = new Ballot(yield* Measured)
  const routing = { tier, extra: tier > 0 }
  const draft = yield* asking.propose(atTier(tier, { kind: "draft" }), routing)
  // The echo agrees with no answer, not even its own.
  const usable = (said: ModelAnswer) => counts(said) && !isEcho(said)
  if (usable(draft)) ballot.add(draft)
  else ballot.abstain(draft)

  /** Whether a target was asked again because no other was available. */
  let alone = false
  for (let sample = 1; sample <= plan.samples; sample++) {
    const left = plan.samples - sample + 1
    const leader = ballot.leader
    const isSure = leader !== undefined && ballot.isCompared && leader.probability >= plan.sure
    const behind = leader === undefined ? [] : ballot.behind(leader.group)
    if (isSure && (alone || behind.length > 1)) break
    if (leader !== undefined && ballot.isCompared && !isSure) {
      const { change, settle } = ballot.couldStill(left, SURE)
      if (!settle && !(plan.thorough && change)) break
    }
    // A cascade samples its cheap target until that is sure of its answer; then, or at last, it asks another one.
    const others = isSure ? behind : draft.escalateBelow === null || left === 1 ? ballot.mostAsked : []
    const said = yield* asking.propose(atTier(tier, { kind: "sample", sample }), {
      ...(others.length === 0 ? routing : { ...routing, tier: 0 }),
      independentOf: others,
      optional: true,
    })
    alone ||= others.length === 1 && !said.independent
    yield* entered(asking, ballot, said, tier, usable(said), sample)
  }
  const measure = ballot.isCompared ? (ballot.leader?.probability ?? 0) : 0
  return {
    result: { ballot, draft, tier },
    measure,
    escalateBelow: draft.escalateBelow,
  }
})

/**
 * Adds an answer to its group. Equal words are equal answers; a judge decides other cases, unless the difference is
 * plain.
 */
const entered = Effect.fnUntraced(function* (
  asking: Asking,
  ballot: Ballot,
  said: ModelAnswer,
  tier: number,
  usable: boolean,
  sample?: number,
) {
  if (!usable) return void ballot.abstain(said)
  const { candidates, group } = ballot.find(said.text)
  if (group !== undefined) return ballot.add(said, group)
  if (candidates.length === 0) return ballot.add(said)
  const comparison = yield* asking.decide(
    atTier(tier, { kind: "compare", ...(sample !== undefined && { sample }) }),
    Comparison,
    {
      role: "judge",
      instruction: prompts.compare,
      sections: [
        ...candidates.map((group, i) => ({ title: `answer ${i + 1}`, text: ballot.texts[group] ?? "" })),
        { title: "new answer", text: said.text },
      ],
      independentOf: [said.target],
      extra: tier > 0,
    },
  )
  // An answer that could not be compared joins no group.
  if (comparison.value === undefined) return void ballot.abstain(said)
  const same = comparison.value.same_as
  return ballot.add(said, same === null ? undefined : candidates[same - 1])
})

interface Finding extends Omit<Check, "consistent"> {
  /** Numbers of the fitting answers, from 1. */
  readonly fits: ReadonlyArray<number> | null
}

const NOTHING: Decision = { checks: [], refuted: false, others: [] }

interface Decision {
  readonly checks: ReadonlyArray<Finding>
  /** Whether the judge found all answers wrong. */
  readonly refuted: boolean
  /** The group of the corrected answer, and the judge that found the others wrong. */
  readonly correction?: { readonly group: number; readonly judge: TargetName } | undefined
  readonly others: ReadonlyArray<ModelAnswer>
}

/** Decides between differing answers by questions whose answers distinguish them. */
const decided = Effect.fnUntraced(function* (asking: Asking, ballot: Ballot, tier: number) {
  const answers = ballot.texts.map((text, i) => ({ title: `answer ${i + 1}`, text }))
  const judges = { independentOf: ballot.mostAsked }
  const questions = yield* asking.decide({ kind: "questions" }, Questions, {
    role: "critic",
    instruction: prompts.questioner,
    sections: answers,
    ...judges,
  })
  const asked = questions.value?.questions ?? []
  const found = yield* Effect.forEach(
    asked,
    (question, i) =>
      asking.examine(
        { kind: "answer", question: i + 1 },
        {
          role: "critic",
          instruction: prompts.verifier,
          sections: [{ title: "question", text: question }],
          ...judges,
        },
      ),
    { concurrency: "unbounded" },
  )
  const findings = asked.map((question, i) => ({
    title: `question ${i + 1}`,
    text: `${question}\nAnswer: ${found[i]?.text ?? ""}`,
  }))

  const judgements: Array<{ readonly value: Reconciliation; readonly said: ModelAnswer }> = []
  const others = [questions.said, ...found]
  for (const order of asked.length === 0 ? [] : [1, 2]) {
    const { said, value } = yield* asking.decide({ kind: "reconcile", ...(order > 1 && { order }) }, Reconciliation, {
      role: "judge",
      instruction: prompts.judge,
      sections: [...(order === 1 ? answers : answers.toReversed()), ...findings],
      ...judges,
    })
    others.push(said)
    if (value === undefined) break
    judgements.push({ value, said })
  }
  const [first, second] = judgements
  const checks = asked.map((question, i): Finding => {
    const check = first?.value.checks.find((check) => check.question === i + 1)
    return {
      question,
      independent_answer: found[i]?.text ?? "",
      fits: check?.fits ?? null,
      note: check?.note ?? "Not decided.",
    }
  })
  // If the verdict changes with the order, nothing is decided.
  if (first === undefined || second === undefined || first.value.right !== second.value.right) {
    return { checks, refuted: false, others }
  }
  const { right } = first.value
  if (right !== null) {
    if (right <= answers.length) ballot.choose(first.said, right - 1)
    return { checks, refuted: false, others }
  }

  const correction = yield* asking.propose(atTier(tier, { kind: "correct" }), {
    about: { instruction: prompts.correct, sections: [...answers, ...findings] },
    tier,
    independentOf: [first.said.target],
    // The findings are worth more than a failed job.
    optional: true,
  })
  const group = yield* entered(asking, ballot, correction, tier, counts(correction) && !isEcho(correction))
  // A correction that repeats an answer does not count.
  return {
    checks,
    refuted: true,
    others,
    correction: group === undefined || group < answers.length ? undefined : { group, judge: first.said.target },
  }
})

const verdictOf = (found: {
  readonly probability: number | null
  /** Whether the answer differs from the draft. */
  readonly replaced: boolean
  readonly refuted: boolean
  readonly corrected: boolean
}): VerifiedResult["verdict"] => {
  const probability = found.probability ?? 0
  if (found.refuted) return found.corrected ? "corrected" : "refuted"
  if (found.replaced) return probability >= MORE_LIKELY_THAN_NOT ? "corrected" : "inconclusive"
  return probability >= SURE ? "verified" : "inconclusive"
}
