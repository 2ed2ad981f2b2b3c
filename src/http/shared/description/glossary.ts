/** What members mean that both servers answer with. */
import type { Glossary } from "./describeMembers.ts"

export const SHARED_GLOSSARY: Glossary = {
  "Problem.type": "A URN that names the kind of problem (RFC 9457).",
  "Problem.title": "What went wrong, the same words each time.",
  "Problem.status": "The HTTP status of the answer.",
  "Problem.code": "Stable and meant for programs; it never changes for the same kind of problem.",
  "Problem.detail": "What was special about this time, and what to do.",
  "Problem.instance": "The path that was asked for.",
  "Problem.trace_id": "The id by which the operator finds this request in traces and logs.",
  retryable: "Whether the same request may succeed later.",
  "Problem.errors": "The members of the request that do not fit, each with the reason.",
  "errors.path": "Where in the request, such as `payload.limits.max_rounds`.",
  "errors.message": "What was expected there.",
  software: "Name and version of the server's software.",
  "health.status": "`ok` as long as the process is alive.",
  "ready.status": "Whether requests should be sent here.",
  "ready.providers":
    "`degraded`: a provider's circuit is open or its configuration is wrong. `none`: only the built-in echo answers.",
  mtls: "Whether clients must show a certificate.",
}
