/** How states and verdicts look: a word, a mark that says it without colour, and a colour. */
import type { JobStatus } from "../../../domain/job.ts"
import type { AdversarialResult, Severity, VerifiedResult } from "../../../domain/verdict.ts"

export interface Look {
  readonly word: string
  readonly mark: string
  readonly tone: "good" | "warn" | "bad" | ""
}

export const Badge = ({ look, what }: { readonly look: Look; readonly what?: string }) => (
  <span class={look.tone === "" ? "badge" : `badge ${look.tone}`}>
    <span aria-hidden="true">{look.mark}</span>
    {what !== undefined && <span class="visually-hidden">{what}: </span>}
    {look.word}
  </span>
)

export const STATUS: Readonly<Record<JobStatus, Look>> = {
  queued: { word: "queued", mark: "○", tone: "" },
  running: { word: "running", mark: "◐", tone: "warn" },
  completed: { word: "completed", mark: "✓", tone: "good" },
  failed: { word: "failed", mark: "✕", tone: "bad" },
  cancelled: { word: "cancelled", mark: "–", tone: "" },
  timed_out: { word: "timed out", mark: "✕", tone: "bad" },
}

type Verdict = AdversarialResult["verdict"] | VerifiedResult["verdict"]

export const VERDICT: Readonly<Record<Verdict, Look>> = {
  upheld: { word: "upheld", mark: "✓", tone: "good" },
  revised: { word: "revised", mark: "✓", tone: "good" },
  verified: { word: "verified", mark: "✓", tone: "good" },
  rejected: { word: "rejected", mark: "✕", tone: "bad" },
  refuted: { word: "refuted", mark: "✕", tone: "bad" },
  inconclusive: { word: "inconclusive", mark: "?", tone: "warn" },
}

/** What a verdict means for whoever wants to use the answer. */
export const MEANING: Readonly<Record<Verdict, string>> = {
  upheld: "The proposal stood as it was: no objection of weight was left open.",
  revised: "Objections changed the proposal; the judge calls the revised answer sound.",
  rejected: "The judge calls the answer flawed. Do not rely on it.",
  verified: "Independent answers agree with the draft.",
  refuted: "An independent answer contradicts the draft; what is shown is a correction, not verified again.",
  inconclusive: "The models did not settle it. Treat the answer as unchecked.",
}

export const SEVERITY: Readonly<Record<Severity, Look>> = {
  critical: { word: "critical", mark: "!!", tone: "bad" },
  major: { word: "major", mark: "!", tone: "warn" },
  minor: { word: "minor", mark: "·", tone: "" },
}

export const OBJECTION: Readonly<Record<"resolved" | "open", Look>> = {
  resolved: { word: "resolved", mark: "✓", tone: "good" },
  open: { word: "open", mark: "○", tone: "warn" },
}

/** Whether two answers agree; `null` when that could not be decided. */
export const agreementLook = (agrees: boolean | null, words: { readonly yes: string; readonly no: string }): Look => {
  if (agrees === null) return { word: "undecided", mark: "?", tone: "warn" }
  return agrees ? { word: words.yes, mark: "✓", tone: "good" } : { word: words.no, mark: "✕", tone: "bad" }
}
