/** The course of a debate, from its steps while it runs and from its result once there is one. */
import type { Step } from "../../../../client/gateway/GatewayJobs.ts"
import type { AdversarialResult, Objection, Round } from "../../../../domain/jobs/modes/adversarial.ts"

export interface DebateRound {
  readonly round: number
  readonly critique: Step | undefined
  readonly response: Step | undefined
  /** What was objected and how it was met: known when the job has ended. */
  readonly objections: ReadonlyArray<Objection> | undefined
  readonly outcome: Round["response"] | undefined
}

interface Debate {
  readonly proposal: Step | undefined
  readonly rounds: ReadonlyArray<DebateRound>
  readonly judgement: Step | undefined
}

/** In a cascade, the debate is that of the last target: what came before it was given up. */
export const debateOf = (steps: ReadonlyArray<Step>, result: AdversarialResult | undefined): Debate => {
  const done = steps.filter(({ status }) => status === "completed")
  const tier = Math.max(1, ...done.map(({ tier }) => tier ?? 1))
  const last = done.filter((step) => (step.tier ?? 1) === tier)
  // The last one of a kind is the one that counted: a repair comes after what it repairs.
  const find = (kind: string, round?: number) => last.findLast((step) => step.kind === kind && step.round === round)
  const count = Math.max(
    0,
    ...last.map(({ kind, round }) => (kind === "critique" ? (round ?? 0) : 0)),
    ...(result?.rounds ?? []).map(({ round }) => round),
  )
  return {
    proposal: find("propose"),
    rounds: Array.from({ length: count }, (_, i) => {
      const round = i + 1
      return {
        round,
        critique: find("critique", round),
        response: find("respond", round),
        objections: result?.objections.filter((objection) => objection.round === round),
        outcome: result?.rounds.find((known) => known.round === round)?.response,
      }
    }),
    judgement: find("judge"),
  }
}
