/** Counters of the sealed proxy. None of them carries anything a client sent. */
import { counter, gauge } from "../metrics.ts"

export const sessionsLive = gauge("sealgate_sessions_live")()
export const sessionsCreated = counter("sealgate_sessions_created_total")()

const ended = counter("sealgate_sessions_ended_total")
export type SessionEnd = "expired" | "spent" | "evicted" | "shutdown"
export const sessionsEnded = {
  expired: ended({ reason: "expired" }),
  spent: ended({ reason: "spent" }),
  evicted: ended({ reason: "evicted" }),
  shutdown: ended({ reason: "shutdown" }),
} satisfies Readonly<Record<SessionEnd, unknown>>

const refused = counter("sealgate_openings_failed_total")
type OpeningFailure =
  | "unopenable"
  | "replayed"
  | "session-gone"
  | "too-large"
  | "overloaded"
  | "draining"
  | "stale"
  | "unauthorized"
export const openingsFailed = (reason: OpeningFailure) => refused({ reason })

export const framesSealed = counter("sealgate_frames_sealed_total")()

const responses = counter("sealgate_sealed_responses_total")
export const sealedResponses = (form: string, status: string) => responses({ form, status })
