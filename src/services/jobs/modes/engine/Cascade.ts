/** Escalation: a mode repeats its work with the next target while its measure is below the configured threshold. */
import { Effect } from "effect"

interface TierResult {
  /** From 0 to 1. */
  readonly measure: number
  /** `null` when there is no dearer target left, or no cascade. */
  readonly escalateBelow: number | null
}

/** Runs `attempt` with tier 0, 1, … until its measure is good enough or the targets are used up. */
export const escalated = Effect.fnUntraced(function* <O extends TierResult, E, R>(
  attempt: (tier: number) => Effect.Effect<O, E, R>,
) {
  for (let tier = 0; ; tier++) {
    const outcome = yield* attempt(tier)
    if (outcome.escalateBelow === null || outcome.measure >= outcome.escalateBelow) return outcome
  }
})

/** Notes for readers of a result about how it came about. */
export const notesOf = (facts: {
  readonly tier: number
  readonly cut: boolean
  readonly echo: boolean
  /** Whether the verdict is `inconclusive` only because one model examined itself. */
  readonly alone: boolean
  /** Whether tools of the agent were not offered. */
  readonly withholds?: boolean
  /** A note of one mode only. */
  readonly more?: string | undefined
}): { readonly note?: string } => {
  const notes = [
    facts.echo
      ? "The built-in echo answers with what it is sent and cannot judge; configure a provider to get a verdict."
      : "",
    facts.tier > 0
      ? `Cheaper targets stayed below the cascade's threshold; this is from target ${facts.tier + 1}.`
      : "",
    facts.cut ? "The answer was cut off at the longest output of its model." : "",
    facts.alone
      ? "One model examined its own work, so nothing independent stands behind the answer; allow the agent a second model."
      : "",
    facts.withholds === true
      ? "Tools of the agent that are not read_only were not offered; the mode direct offers them."
      : "",
    facts.more ?? "",
  ].filter((note) => note !== "")
  return notes.length === 0 ? {} : { note: notes.join(" ") }
}
