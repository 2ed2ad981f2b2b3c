/**
 * The adversarial mode: a debate that a judge decides, after "AI safety via debate" (Irving, Christiano and Amodei 2018,
 * arXiv:1805.00899): propose → critique → revise or rebut → … → judge. Critics and judges come from other providers or
 * models if possible, because models favour their own texts (Panickssery, Bowman and Feng 2024, arXiv:2404.13076). The
 * result names every participant.
 */
import { Effect } from "effect"
import { adversarial as mode, type AdversarialResult, type Round } from "../../../../domain/jobs/modes/adversarial.ts"
import { withoutUndefined } from "../../../../domain/json/withoutUndefined.ts"
import { atTier } from "../../../../domain/jobs/step.ts"
import { spanned } from "../../../spans.ts"
import type { JobContext, JobFailure } from "../../JobProgram.ts"
import type { Asking } from "../engine/Asking.ts"
import { escalated, notesOf } from "../engine/Cascade.ts"
import type { Kit } from "../engine/conversation.ts"
import type { Measurements } from "../engine/errorModel.ts"
import { calibrate, Measured } from "../engine/measured.ts"
import { effortOf } from "../engine/effortOf.ts"
import type { MaxCalls } from "../engine/highestCost.ts"
import { kitOf, toolTurns, withholds } from "../engine/kitOf.ts"
import { counts } from "../engine/ModelAnswer.ts"
import type { Toolbox } from "../engine/toolUse.ts"
import { Participants } from "./Participants.ts"
import { isContested, isMaterial, Objections } from "./Objections.ts"
import { prompts } from "./prompts.ts"
import { Critique, DefenderResponse, Judgement } from "./schemas.ts"

/** Runs the debate. A cascade repeats it with dearer targets while the measure is below the threshold. */
export const run = (
  context: JobContext,
  asking: Asking,
  tools: Toolbox,
): Effect.Effect<AdversarialResult, JobFailure> =>
  Effect.gen(function* () {
    const kit = yield* kitOf(context, tools)
    return (yield* escalated((tier) => debate(context, { asking, tier, kit }))).result
  })

const roundsOf = ({ agent, options }: Pick<JobContext, "agent" | "options">): number =>
  Math.min(options.rounds ?? mode.depth[effortOf({ agent, options })], agent.limits.max_rounds)

/** Maximum number of calls. After its turns, a call for JSON may be repeated once. */
export const maxCalls = (job: Pick<JobContext, "agent" | "options">): MaxCalls => {
  const turns = toolTurns(job)
  const decision = turns + 1
  const rounds = roundsOf(job)
  return {
    perTier: { proposer: turns + rounds * decision, critic: rounds * decision, judge: 2 * decision },
    besides: { proposer: 0, critic: 0, judge: 0 },
  }
}

const debate = Effect.fnUntraced(function* (context: JobContext, by: Pick<Debate, "asking" | "tier" | "kit">) {
  const { asking, kit, tier } = by
  const measured = yield* Measured
  const participants = new Participants()
  const objections = new Objections()
  const rounds: Array<Round> = []
  const debate: Debate = { ...by, participants, objections, rounds }

  const proposal = yield* asking.propose(atTier(tier, { kind: "propose" }), { tier, extra: tier > 0, kit })
  participants.add("proposer", proposal)
  const proposed = { answer: proposal.text, decided: counts(proposal) }
  const { answer, decided } = proposed.decided ? yield* argued(debate, proposal.text, roundsOf(context)) : proposed

  const says = counts({ ...proposal, text: answer })
  // If both sides agree, there is only one order: no sides exist whose order could influence the judge.
  const orders = objections.all.some(isContested) ? [1, 2] : [1]
  const { judge, judgements } = decided && says ? yield* judged(debate, answer, orders) : NOT_JUDGED

  const judgement = judgements.length === orders.length ? agreed(judgements) : judgements.at(-1)
  const whole = judgements.length === orders.length || judgement?.verdict === "undecided"
  objections.resolve(judgement?.resolved ?? [])
  const changed = answer !== proposal.text
  const verdict = whole ? verdictOf(judgement, objections.open.some(isMaterial), changed) : "inconclusive"
  const independent = participants.isIndependent(orders.length > 1)
  // A model cannot confirm its own answer.
  const isAlone = !independent && (verdict === "upheld" || verdict === "revised")
  const { calibrated, confidence } =
    judgement === undefined || judge === undefined || !whole ? NO_CONFIDENCE : confidenceOf(measured, judge, judgement)
  const result: AdversarialResult = {
    mode: "adversarial",
    answer,
    ...withoutUndefined({ proposal: changed ? proposal.text : undefined }),
    verdict: says ? (isAlone ? "inconclusive" : verdict) : "rejected",
    confidence,
    independent,
    calibrated,
    objections: objections.all,
    rounds,
    participants: participants.all,
    ...notesOf({
      tier,
      cut: proposal.cut && !changed,
      echo: participants.echo,
      alone: says && isAlone,
      withholds: withholds(context),
      more: says ? undefined : SAYS_NOTHING,
    }),
  }
  const holds = result.verdict === "upheld" || result.verdict === "revised"
  return { result, measure: holds ? (confidence ?? 0) : 0, escalateBelow: proposal.escalateBelow }
}, spanned("modes.adversarial"))

interface Debate {
  readonly asking: Asking
  readonly tier: number
  readonly kit: Kit | undefined
  readonly participants: Participants
  readonly objections: Objections
  readonly rounds: Array<Round>
}

/** Critics and the author argue until no material objection is open. `decided`: no critique or reply failed to decode. */
const argued = Effect.fnUntraced(function* (debate: Debate, proposed: string, most: number) {
  const { asking, kit, objections, participants, rounds, tier } = debate
  const extra = tier > 0
  let answer = proposed
  for (let round = 1; round <= most; round++) {
    const critique = yield* asking.decide(atTier(tier, { kind: "critique", round }), Critique, {
      role: "critic",
      instruction: prompts.critic,
      sections: [{ title: "answer", text: answer }, objections.section("earlier objections")],
      independentOf: participants.of("proposer"),
      extra,
      kit,
    })
    participants.add("critic", critique.said)
    if (critique.value === undefined) {
      rounds.push({ round, response: "inconclusive" })
      return { answer, decided: false }
    }
    objections.resolve(critique.value.resolved)
    for (const objection of critique.value.objections) objections.raise(round, objection)
    if (!objections.open.some(isMaterial)) {
      rounds.push({ round, response: "accepted" })
      break
    }

    const response = yield* asking.respond(atTier(tier, { kind: "respond", round }), DefenderResponse, {
      about: {
        instruction: prompts.respond,
        sections: [{ title: "your answer", text: answer }, objections.section("open objections", objections.open)],
      },
      tier,
      extra,
      kit,
    })
    participants.add("proposer", response.said)
    if (response.value === undefined) {
      rounds.push({ round, response: "inconclusive" })
      return { answer, decided: false }
    }
    const outcome = objections.reply(round, response.value.replies, response.value.answer !== answer)
    rounds.push({ round, response: outcome })
    if (outcome !== "rebutted") answer = response.value.answer
  }
  return { answer, decided: true }
})

interface Judged {
  readonly judge: string | undefined
  readonly judgements: ReadonlyArray<Judgement>
}

const NOT_JUDGED: Judged = { judge: undefined, judgements: [] }

/** Judges the debate once per order of the sides, until a judgement is missing or undecided. */
const judged = Effect.fnUntraced(function* (debate: Debate, answer: string, orders: ReadonlyArray<number>) {
  const { asking, kit, objections, participants, tier } = debate
  const judgements: Array<Judgement> = []
  let judge: string | undefined
  const authors = participants.of("proposer")
  for (const order of orders) {
    const sides = [{ title: "answer", text: answer }, objections.section("objections and replies")]
    const step = { kind: "judge", ...(order > 1 && { order }) }
    const judgement = yield* asking.decide(atTier(tier, step), Judgement, {
      role: "judge",
      instruction: prompts.judge,
      sections: order === 1 ? sides : sides.toReversed(),
      // Authors are listed twice to count double: with only two targets, the critic judges, not the author.
      independentOf: [...authors, ...authors, ...participants.of("critic")],
      extra: tier > 0,
      kit,
    })
    participants.add("judge", judgement.said)
    judge = judgement.said.model
    if (judgement.value === undefined) break
    judgements.push(judgement.value)
    if (judgement.value.verdict === "undecided") break
  }
  const result: Judged = { judge, judgements }
  return result
})

const SAYS_NOTHING = "The answer says nothing that could be right or wrong, so no judge was asked about it."

/** Combines judgements of the same debate in several orders. If the verdict changes with the order, it is undecided. */
const agreed = (judgements: ReadonlyArray<Judgement>): Judgement | undefined => {
  const [first] = judgements
  if (first === undefined) return undefined
  const same = judgements.every(({ verdict }) => verdict === first.verdict)
  return {
    verdict: same ? first.verdict : "undecided",
    resolved: first.resolved.filter((id) => judgements.every(({ resolved }) => resolved.includes(id))),
    confidence: judgements.reduce((sum, { confidence }) => sum + confidence, 0) / judgements.length,
  }
}

const NO_CONFIDENCE = { confidence: null, calibrated: false } as const

/** Rounds: 1 - 0.95 is 0.050000000000000044. */
const withoutResidue = (fraction: number): number => Number(fraction.toPrecision(12))

/** The probability that the answer is right, from the judge's confidence in its verdict. */
const confidenceOf = (measured: Measurements, judge: string, { confidence: stated, verdict }: Judgement) => {
  if (verdict === "undecided") return NO_CONFIDENCE
  const { calibrated, confidence } = calibrate(measured, judge, stated)
  return { confidence: withoutResidue(verdict === "sound" ? confidence : 1 - confidence), calibrated }
}

/** The verdict is `inconclusive` if the judge approves the answer while material objections are open. */
const verdictOf = (
  judged: Judgement | undefined,
  materialLeft: boolean,
  changed: boolean,
): AdversarialResult["verdict"] => {
  if (judged === undefined || judged.verdict === "undecided") return "inconclusive"
  if (judged.verdict === "flawed") return "rejected"
  if (materialLeft) return "inconclusive"
  return changed ? "revised" : "upheld"
}
