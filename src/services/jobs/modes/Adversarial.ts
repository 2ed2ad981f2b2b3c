/**
 * The adversarial mode: a debate that a judge decides, after "AI safety via debate" (Irving, Christiano and Amodei 2018,
 * arXiv:1805.00899): propose → critique → revise or rebut → … → judge. Critics and judges come from other providers or
 * models wherever there are any, because models favour what they wrote themselves (Panickssery, Bowman and Feng 2024,
 * arXiv:2404.13076); who they really were is in the result.
 */
import { Effect } from "effect"
import { Critique, Judgement, Response } from "../../../domain/modes.ts"
import type { Role } from "../../../domain/routing.ts"
import type { TargetName } from "../../../domain/targets.ts"
import type { AdversarialResult, Objection, Participant, Round } from "../../../domain/verdict.ts"
import type { JobContext, JobFailure } from "../JobProgram.ts"
import { type Asking, isEcho, participant, type Said } from "./Asking.ts"
import { atTier, escalated, notesOf } from "./Cascade.ts"
import { fill, numbered, persona, prompts } from "./prompts.ts"

/** Runs the debate; in a cascade again with dearer targets, as long as its outcome is below the threshold. */
export const adversarial = (context: JobContext, asking: Asking): Effect.Effect<AdversarialResult, JobFailure> =>
  Effect.map(
    escalated((tier) => debate(context, asking, tier)),
    ({ result }) => result,
  )

const debate = Effect.fn("modes.adversarial")(function* (context: JobContext, asking: Asking, tier: number) {
  const { agent, options } = context
  const rounds = Math.min(options.rounds ?? agent.limits.max_rounds, agent.limits.max_rounds)
  const system = persona(agent)
  const extra = tier > 0
  const members = new Members()
  const objections: Array<OpenObjection> = []
  const open = () => objections.filter(({ status }) => status === "open")
  const history: Array<Pick<Round, "round" | "response">> = []

  const proposal = yield* asking.say(atTier(tier, "propose"), { role: "proposer", system, tier, extra })
  members.add("proposer", proposal)
  let answer = proposal.text
  let rebuttal = ""
  let decided = true

  for (let round = 1; round <= rounds; round++) {
    const critique = yield* asking.decide(atTier(tier, `critique-${round}`), Critique, {
      role: "critic",
      system: prompts.critic,
      instruction: fill(prompts.critique, { answer, objections: listed(open()), rebuttal }),
      independentOf: members.of("proposer"),
      extra,
    })
    members.add("critic", critique.said)
    if (critique.value === undefined) {
      history.push({ round, response: "inconclusive" })
      decided = false
      break
    }
    resolve(open(), critique.value.resolved)
    for (const { claim, severity } of critique.value.objections) {
      objections.push({ claim, severity, status: "open", round })
    }
    if (!open().some(isMaterial)) {
      history.push({ round, response: "accepted" })
      break
    }

    const response = yield* asking.decide(atTier(tier, `respond-${round}`), Response, {
      role: "proposer",
      system,
      instruction: fill(prompts.respond, { answer, objections: listed(open()) }),
      tier,
      extra,
    })
    members.add("proposer", response.said)
    if (response.value === undefined) {
      history.push({ round, response: "inconclusive" })
      decided = false
      break
    }
    const revises = response.value.action === "revise"
    history.push({ round, response: revises ? "revised" : "rebutted" })
    if (revises) answer = response.value.answer
    rebuttal = revises ? "" : response.value.rebuttal
  }

  const judgement = decided
    ? yield* asking.decide(atTier(tier, "judge"), Judgement, {
        role: "judge",
        system: prompts.judge,
        instruction: fill(prompts.judgement, { answer, objections: listed(open()), rebuttal }),
        independentOf: [...members.of("proposer"), ...members.of("critic")],
        extra,
      })
    : undefined
  if (judgement !== undefined) members.add("judge", judgement.said)
  const judged = judgement?.value
  resolve(open(), judged?.resolved ?? [])

  const verdict = verdictOf(judged, open().some(isMaterial), answer !== proposal.text)
  const result: AdversarialResult = {
    answer,
    verdict,
    confidence: judged?.confidence ?? null,
    objections: objections.map(toObjection),
    rounds: history.map(({ response, round }) => ({
      round,
      objections: objections.filter((objection) => objection.round === round).map(toObjection),
      response,
    })),
    participants: members.participants,
    ...notesOf({ tier, cut: proposal.cut && answer === proposal.text, echo: members.echo }),
  }
  const holds = verdict === "upheld" || verdict === "revised"
  return { result, measure: holds ? (judged?.confidence ?? 0) : 0, escalateBelow: proposal.escalateBelow }
})

/** A judge who calls an answer sound while objections of weight stay open has not decided. */
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

interface OpenObjection extends Omit<Objection, "status"> {
  status: Objection["status"]
  readonly round: number
}

const isMaterial = ({ severity }: Pick<Objection, "severity">): boolean => severity !== "minor"

const listed = (objections: ReadonlyArray<OpenObjection>): string =>
  numbered(objections.map(({ claim, severity }) => `(${severity}) ${claim}`))

/** Resolves the objections with these numbers, as {@link listed} numbered them. */
const resolve = (listed: ReadonlyArray<OpenObjection>, numbers: ReadonlyArray<number>): void => {
  for (const number of numbers) {
    const objection = listed[number - 1]
    if (objection !== undefined) objection.status = "resolved"
  }
}

const toObjection = ({ claim, severity, status }: OpenObjection): Objection => ({ claim, severity, status })

/** Who took part, each once. */
class Members {
  private readonly said = new Map<string, readonly [Role, Said]>()

  add(role: Role, said: Said): void {
    const key = `${role} ${said.target.provider}/${said.target.model}`
    if (!this.said.has(key)) this.said.set(key, [role, said])
  }

  of(role: Role): ReadonlyArray<TargetName> {
    return [...this.said.values()].filter(([as]) => as === role).map(([, { target }]) => target)
  }

  get participants(): ReadonlyArray<Participant> {
    return [...this.said.values()].map(([role, said]) => participant(role, said))
  }

  get echo(): boolean {
    return [...this.said.values()].some(([role, said]) => role !== "proposer" && isEcho(said))
  }
}
