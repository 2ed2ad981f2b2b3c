/** What members mean that both servers answer with. */
import type { Glossary } from "./describeMembers.ts"

export const SHARED_GLOSSARY: Glossary = {
  "Problem.type": "A URN that names the kind of problem (RFC 9457).",
  "Problem.title": "What went wrong, the same words each time.",
  "Problem.status": "The HTTP status of the answer.",
  "Problem.code": "Stable and meant for programs; it never changes for the same kind of problem.",
  "Problem.detail": "What was special about this time, and what to do.",
  "Problem.instance": "The path that was asked for.",
  "Problem.trace_id": "By which the operator finds this request in traces and logs.",
  retryable: "Whether the same request may succeed later.",
  "Problem.errors": "The members of the request that do not fit, each with why.",
  "errors.path": "Where in the request, such as `payload.limits.max_rounds`.",
  "errors.message": "What was expected there.",
  software: "Name and version of what answers.",
  "health.status": "That the process lives.",
  "ready.status": "Whether requests should be sent here.",
  "ready.providers":
    "`degraded`: one is left alone because calls failed. `none`: there is no model behind it but the echo.",
  mtls: "Whether clients must show a certificate.",
}
