/**
 * The adversarial mode: a debate that a judge decides, after "AI safety via debate" (Irving, Christiano and Amodei 2018,
 * arXiv:1805.00899): propose → critique → revise or rebut → … → judge. Critics and judges come from other providers or
 * models wherever there are any, because models favour what they wrote themselves (Panickssery, Bowman and Feng 2024,
 * arXiv:2404.13076); who they really were is in the result.
 */
import { Effect } from "effect"
import { adversarial as mode, type AdversarialResult, type Round } from "../../../../domain/jobs/modes/adversarial.ts"
import { DEFAULT_EFFORT } from "../../../../domain/jobs/modes/description.ts"
import { withoutUndefined } from "../../../../domain/json/withoutUndefined.ts"
import { atTier } from "../../../../domain/jobs/step.ts"
import { spanned } from "../../../spans.ts"
import type { JobContext, JobFailure } from "../../JobProgram.ts"
import { type Asking, counts } from "../engine/Asking.ts"
import { escalated, notesOf } from "../engine/Cascade.ts"
import { calibrate, Measured } from "../engine/measured.ts"
import type { MaxCalls } from "../engine/highestCost.ts"
import { Participants } from "./Participants.ts"
import { isContested, isMaterial, Objections } from "./Objections.ts"
import { prompts } from "./prompts.ts"
import { Critique, Judgement, Response } from "./schemas.ts"

/** Runs the debate; in a cascade again with dearer targets, as long as its outcome is below the threshold. */
export const run = (context: JobContext, asking: Asking): Effect.Effect<AdversarialResult, JobFailure> =>
  Effect.map(
    escalated((tier) => debate(context, asking, tier)),
    ({ result }) => result,
  )

/** How many rounds a job has at most. */
const roundsOf = ({ agent, options }: Pick<JobContext, "agent" | "options">): number =>
  Math.min(
    options.rounds ?? mode.depth[options.effort ?? agent.default_effort ?? DEFAULT_EFFORT],
    agent.limits.max_rounds,
  )

/** The calls of a job at most; whoever is asked for JSON may be asked twice. */
export const maxCalls = (job: Pick<JobContext, "agent" | "options">): MaxCalls => ({
  perTier: { proposer: 1 + 2 * roundsOf(job), critic: 2 * roundsOf(job), judge: 2 * 2 },
  besides: { proposer: 0, critic: 0, judge: 0 },
})

const debate = Effect.fnUntraced(function* (context: JobContext, asking: Asking, tier: number) {
  const measured = yield* Measured
  const rounds = roundsOf(context)
  const extra = tier > 0
  const participants = new Participants()
  const objections = new Objections()
  const history: Array<Round> = []

  const proposal = yield* asking.propose(atTier(tier, { kind: "propose" }), { tier, extra })
  participants.add("proposer", proposal)
  let answer = proposal.text
  let decided = counts(proposal)

  for (let round = 1; decided && round <= rounds; round++) {
    const critique = yield* asking.decide(atTier(tier, { kind: "critique", round }), Critique, {
      role: "critic",
      instruction: prompts.critic,
      sections: [{ title: "answer", text: answer }, objections.section("earlier objections")],
      independentOf: participants.of("proposer"),
      extra,
    })
    participants.add("critic", critique.said)
    if (critique.value === undefined) {
      history.push({ round, response: "inconclusive" })
      decided = false
      break
    }
    objections.resolve(critique.value.resolved)
    for (const objection of critique.value.objections) objections.raise(round, objection)
    if (!objections.open.some(isMaterial)) {
      history.push({ round, response: "accepted" })
      break
    }

    const response = yield* asking.respond(atTier(tier, { kind: "respond", round }), Response, {
      about: {
        instruction: prompts.respond,
        sections: [{ title: "your answer", text: answer }, objections.section("open objections", objections.open)],
      },
      tier,
      extra,
    })
    participants.add("proposer", response.said)
    if (response.value === undefined) {
      history.push({ round, response: "inconclusive" })
      decided = false
      break
    }
    const outcome = objections.reply(round, response.value.replies, response.value.answer !== answer)
    history.push({ round, response: outcome })
    if (outcome !== "rebutted") answer = response.value.answer
  }

  const says = counts({ ...proposal, text: answer })
  const judgements: Array<Judgement> = []
  let judge: string | undefined
  // When both sides agree, there are no sides to exchange, so their order cannot influence the judge.
  const orders = objections.all.some(isContested) ? [1, 2] : [1]
  const authors = participants.of("proposer")
  for (const order of decided && says ? orders : []) {
    const sides = [{ title: "answer", text: answer }, objections.section("objections and replies")]
    const step = { kind: "judge", ...(order > 1 && { order }) }
    const judgement = yield* asking.decide(atTier(tier, step), Judgement, {
      role: "judge",
      instruction: prompts.judge,
      sections: order === 1 ? sides : sides.toReversed(),
      // Where there is no third target, the critic judges, and not the author.
      independentOf: [...authors, ...authors, ...participants.of("critic")],
      extra,
    })
    participants.add("judge", judgement.said)
    judge = judgement.said.model
    if (judgement.value === undefined) break
    judgements.push(judgement.value)
    if (judgement.value.verdict === "undecided") break
  }

  const judged = judgements.length === orders.length ? agreed(judgements) : judgements.at(-1)
  const whole = judgements.length === orders.length || judged?.verdict === "undecided"
  objections.resolve(judged?.resolved ?? [])
  const verdict = whole ? verdictOf(judged, objections.open.some(isMaterial), answer !== proposal.text) : "inconclusive"
  const independent = participants.isIndependent(orders.length > 1)
  // A model that approves its own answer has settled nothing.
  const isAlone = !independent && (verdict === "upheld" || verdict === "revised")
  const { calibrated, confidence } =
    judged === undefined || judge === undefined || !whole
      ? { confidence: null, calibrated: false }
      : calibrate(measured, judge, judged.confidence)
  const result: AdversarialResult = {
    mode: "adversarial",
    answer,
    ...withoutUndefined({ proposal: answer === proposal.text ? undefined : proposal.text }),
    verdict: says ? (isAlone ? "inconclusive" : verdict) : "rejected",
    confidence,
    independent,
    calibrated,
    objections: objections.all,
    rounds: history,
    participants: participants.all,
    ...notesOf({
      tier,
      cut: proposal.cut && answer === proposal.text,
      echo: participants.echo,
      alone: says && isAlone,
      more: says ? undefined : SAYS_NOTHING,
    }),
  }
  const holds = result.verdict === "upheld" || result.verdict === "revised"
  return { result, measure: holds ? (confidence ?? 0) : 0, escalateBelow: proposal.escalateBelow }
}, spanned("modes.adversarial"))

const SAYS_NOTHING = "The answer says nothing that could be right or wrong, so no judge was asked about it."

/** Combines judgements of the same debate in several orders. A judge whom the order influences has not decided. */
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

/** A judge who approves an answer while material objections are open has not decided. */
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
