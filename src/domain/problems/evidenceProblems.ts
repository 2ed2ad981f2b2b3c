/** Refusals of `POST /v1/evidence`. */
import { Refusal } from "./refusal.ts"

export class NoEvidence extends Refusal<NoEvidence>()("NoEvidence", {
  code: "no-evidence",
  status: 404,
  title: "This proxy has no evidence of the code that it runs.",
  detail: "Its operator did not set ATTEST. Only its pin identifies it.",
}) {}

export class EvidenceUnavailable extends Refusal<EvidenceUnavailable>()("EvidenceUnavailable", {
  code: "evidence-unavailable",
  status: 503,
  title: "The machine gave no evidence.",
  detail: "Its evidence service failed, or too many clients are asking at once. Try again in a moment.",
}) {}
