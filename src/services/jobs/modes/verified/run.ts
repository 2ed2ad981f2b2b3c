/**
 * The verified mode: it collects answers of different models to the same task until the posterior of one is high
 * enough (after "Optimal stopping" of self-consistency, arXiv:2511.02603; Wang et al. 2022, arXiv:2203.11171). Only if
 * answers differ does it pay for factored chain of verification (Dhuliawala et al. 2023, arXiv:2309.11495): models
 * that have not seen the answers answer questions about them, and a judge is asked in both orders.
 */
import { Effect } from "effect"
import type { Effort } from "../../../../domain/jobs/modes/description.ts"
import {
  type AnswerCheck,
  MORE_LIKELY_THAN_NOT,
  SURE,
  verified as mode,
  type VerifiedResult,
} from "../../../../domain/jobs/modes/verified.ts"
import { atTier } from "../../../../domain/jobs/step.ts"
import { sameModel } from "../../../../domain/upstream/targets.ts"
import { spanned } from "../../../spans.ts"
import type { JobContext } from "../../JobProgram.ts"
import type { Asking } from "../engine/Asking.ts"
import { escalated, notesOf } from "../engine/Cascade.ts"
import { effortOf } from "../engine/effortOf.ts"
import type { MaxCalls } from "../engine/highestCost.ts"
import { kitOf, toolTurns, withholds } from "../engine/kitOf.ts"
import { Measured } from "../engine/measured.ts"
import { counts, isEcho, type ModelAnswer } from "../engine/ModelAnswer.ts"
import type { Toolbox } from "../engine/toolUse.ts"
import { Ballot } from "./Ballot.ts"
import { decided, type Means, NOTHING } from "./deciding.ts"
import { entered } from "./entered.ts"
import { MAX_QUESTIONS } from "./schemas.ts"

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
  const effort = effortOf({ agent, options })
  return { samples: options.samples ?? mode.depth[effort], ...EFFORTS[effort] }
}

/** Maximum number of calls. A call for JSON may be repeated once; examiners who give JSON call no tools. */
export const maxCalls = (job: Pick<JobContext, "agent" | "options">): MaxCalls => {
  const { samples, thorough } = planOf(job)
  const turns = toolTurns(job)
  return {
    perTier: { proposer: (1 + samples) * turns, critic: 0, judge: 2 * samples },
    // Questions and their answers; the judgement in two orders, the correction, and its comparison.
    besides: thorough
      ? { proposer: turns, critic: 2 + MAX_QUESTIONS * turns, judge: 2 * 2 + 2 }
      : { proposer: 0, critic: 0, judge: 0 },
  }
}

export const run = Effect.fnUntraced(function* (context: JobContext, asking: Asking, tools: Toolbox) {
  const plan = planOf(context)
  const kit = yield* kitOf(context, tools)
  const { ballot, draft, tier } = (yield* escalated((tier) => sampled(asking, plan, { tier, kit }))).result

  const first = ballot.leader
  const open = plan.thorough && ballot.isSplit && first !== undefined && first.probability < SURE
  const { checks, correction, executed, others, refuted } = open
    ? yield* decided(asking, ballot, { tier, kit })
    : NOTHING
  const corrected = correction !== undefined

  // If the judge found all answers wrong in both orders, the correction replaces them.
  const chosen = correction ?? executed
  const leader = chosen === undefined ? ballot.leader : ballot.at(chosen.group)
  const final = leader?.said ?? draft
  const probability = leader !== undefined && ballot.isCompared ? leader.probability : null
  const replaced = final !== draft
  const independent =
    (!corrected && leader !== undefined && ballot.behind(leader.group).length > 1) ||
    (chosen?.by.some((target) => !sameModel(target, final.target)) ?? false)
  const byVotes = verdictOf({ probability, replaced, refuted, corrected })
  // The votes do not contain the results of tools.
  const byTools = executed !== undefined && byVotes === "inconclusive"
  const found = byTools ? (replaced ? "corrected" : "verified") : byVotes
  // A model that agrees with itself, or corrects itself, confirms nothing.
  const isAlone = !independent && (found === "verified" || found === "corrected")
  const result: VerifiedResult = {
    mode: "verified",
    answer: final.text,
    verdict: isAlone ? "inconclusive" : found,
    confidence: byTools ? null : probability,
    independent,
    agreement: leader === undefined ? 0 : ballot.agreement(leader.group),
    answers: ballot.candidates,
    checks: checks.map(({ fits, ...check }): AnswerCheck => ({
      ...check,
      // The judge has not seen the correction.
      consistent: leader === undefined ? null : (fits[leader.group] ?? null),
    })),
    ...notesOf({
      tier,
      cut: final.cut,
      echo: isEcho(draft) || others.some(isEcho),
      alone: isAlone,
      withholds: withholds(context),
      more: byTools ? EXECUTED : noteOf(refuted, corrected),
    }),
  }
  return result
}, spanned("modes.verified"))

const EXECUTED = "A check that was executed with a tool decided between the answers."

const noteOf = (refuted: boolean, corrected: boolean): string | undefined => {
  if (!refuted) return undefined
  return corrected
    ? "All answers were found wrong; this one was written from the findings and not verified again."
    : "All answers were found wrong, and no better one was given; the answer is the most probable of them."
}

/** Collects a draft and further answers until one is probable enough or no further answer could change the outcome. */
const sampled = Effect.fnUntraced(function* (asking: Asking, plan: Plan, { kit, tier }: Means) {
  const ballot = new Ballot(yield* Measured)
  const routing = { tier, extra: tier > 0, kit }
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
    // A cascade samples its cheap target until that target's answer is sure enough. Then, or for the last sample, it
    // asks another target.
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
