/** Assembles a debate from steps while it runs, and from the result afterwards. */
import type { Step } from "../../../../client/gateway/GatewayJobs.ts"
import type { AdversarialResult, Objection, Round } from "../../../../domain/jobs/modes/adversarial.ts"

export interface DebateRound {
  readonly round: number
  readonly critique: Step | undefined
  readonly response: Step | undefined
  /** Known when the job has ended. */
  readonly objections: ReadonlyArray<Objection> | undefined
  readonly outcome: Round["response"] | undefined
}

interface Debate {
  readonly proposal: Step | undefined
  readonly rounds: ReadonlyArray<DebateRound>
  readonly judgement: Step | undefined
}

/** In a cascade, returns the debate of the last target; earlier ones were abandoned. */
export const debateOf = (steps: ReadonlyArray<Step>, result: AdversarialResult | undefined): Debate => {
  const done = steps.filter(({ status }) => status === "completed")
  const tier = Math.max(1, ...done.map(({ tier }) => tier ?? 1))
  const last = done.filter((step) => (step.tier ?? 1) === tier)
  // The last step of a kind counts, because a repair follows the step that it repairs.
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
