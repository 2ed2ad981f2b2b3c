/** Refusals of `POST /v1/evidence`. */
import { Refusal } from "./refusal.ts"

export class NoEvidence extends Refusal<NoEvidence>()("NoEvidence", {
  code: "no-evidence",
  status: 404,
  title: "This proxy has no evidence of the code that it runs.",
  detail: "Its operator did not set ATTEST. It can be identified by its pin alone.",
}) {}

export class EvidenceUnavailable extends Refusal<EvidenceUnavailable>()("EvidenceUnavailable", {
  code: "evidence-unavailable",
  status: 503,
  title: "The machine did not hand out evidence.",
  detail: "Its service for evidence failed, or too many clients ask at once. Try again in a moment.",
}) {}
