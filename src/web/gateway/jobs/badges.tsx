/** Badges of states and verdicts: a word, a mark that works without colour, and a colour. */
import type { JobStatus } from "../../../domain/jobs/job.ts"
import { type JobResult, verdictMeaning } from "../../../domain/jobs/modes.ts"
import type { Severity } from "../../../domain/jobs/modes/adversarial.ts"

export interface BadgeStyle {
  readonly word: string
  readonly mark: string
  readonly tone: "good" | "warn" | "bad" | ""
}

export const Badge = ({ look, what }: { readonly look: BadgeStyle; readonly what?: string }) => (
  <span class={look.tone === "" ? "badge" : `badge ${look.tone}`}>
    <span aria-hidden="true">{look.mark}</span>
    {what !== undefined && <span class="visually-hidden">{what}: </span>}
    {look.word}
  </span>
)

export const STATUS: Readonly<Record<JobStatus, BadgeStyle>> = {
  queued: { word: "queued", mark: "○", tone: "" },
  running: { word: "running", mark: "◐", tone: "warn" },
  input_required: { word: "asks a person", mark: "?", tone: "warn" },
  completed: { word: "completed", mark: "✓", tone: "good" },
  failed: { word: "failed", mark: "✕", tone: "bad" },
  cancelled: { word: "cancelled", mark: "–", tone: "" },
  timed_out: { word: "timed out", mark: "✕", tone: "bad" },
}

const MARKS = { good: "✓", warn: "?", bad: "✕" } as const

export const verdictBadge = (result: Pick<JobResult, "mode" | "verdict">): BadgeStyle => {
  const { tone } = verdictMeaning(result)
  return { word: result.verdict, mark: MARKS[tone], tone }
}

export const SEVERITY: Readonly<Record<Severity, BadgeStyle>> = {
  critical: { word: "critical", mark: "!!", tone: "bad" },
  major: { word: "major", mark: "!", tone: "warn" },
  minor: { word: "minor", mark: "·", tone: "" },
}

export const OBJECTION: Readonly<Record<"resolved" | "open", BadgeStyle>> = {
  resolved: { word: "resolved", mark: "✓", tone: "good" },
  open: { word: "open", mark: "○", tone: "warn" },
}

/** Badge of a check; `null` means undecided. */
export const agreementBadge = (consistent: boolean | null): BadgeStyle => {
  if (consistent === null) return { word: "undecided", mark: "?", tone: "warn" }
  return consistent ? { word: "consistent", mark: "✓", tone: "good" } : { word: "inconsistent", mark: "✕", tone: "bad" }
}
