/** The course of a debate, from its steps while it runs and from its result once there is one. */
import type { Step } from "../../../client/GatewayJobs.ts"
import type { Job } from "../../../client/GatewayJobs.ts"
import type { AdversarialResult, Objection, Round, VerifiedResult } from "../../../domain/verdict.ts"
import { parseStep } from "./steps.ts"

export interface DebateRound {
  readonly round: number
  readonly critique: Step | undefined
  readonly response: Step | undefined
  /** What was objected and how it was met: known when the job has ended. */
  readonly objections: ReadonlyArray<Objection> | undefined
  readonly outcome: Round["response"] | undefined
}

export interface Debate {
  readonly proposal: Step | undefined
  readonly rounds: ReadonlyArray<DebateRound>
  readonly judgement: Step | undefined
}

/** The result of a job in the one mode or the other: its members tell them apart. */
export const adversarialResult = ({ result }: Job): AdversarialResult | undefined =>
  result !== undefined && "rounds" in result ? result : undefined
export const verifiedResult = ({ result }: Job): VerifiedResult | undefined =>
  result !== undefined && "checks" in result ? result : undefined

/** In a cascade, the debate is that of the last target: what came before it was given up. */
export const debateOf = (steps: ReadonlyArray<Step>, result: AdversarialResult | undefined): Debate => {
  const done = steps.flatMap((step) => (step.status === "completed" ? [{ step, ...parseStep(step.name) }] : []))
  const tier = Math.max(1, ...done.map((known) => known.tier))
  // The last one of a name is the one that counted: a repair comes after what it repairs.
  const find = (kind: string, number = 0) =>
    done.findLast((known) => known.tier === tier && known.kind === kind && known.number === number)?.step
  const begun = done.filter((known) => known.tier === tier && known.kind === "critique").map(({ number }) => number)
  const count = Math.max(0, ...begun, ...(result?.rounds ?? []).map(({ round }) => round))
  return {
    proposal: find("propose"),
    rounds: Array.from({ length: count }, (_, i) => {
      const known = result?.rounds.find(({ round }) => round === i + 1)
      return {
        round: i + 1,
        critique: find("critique", i + 1),
        response: find("respond", i + 1),
        objections: known?.objections,
        outcome: known?.response,
      }
    }),
    judgement: find("judge"),
  }
}
