/** Counters of the sealed proxy. None of them carries anything a client sent. */
import { Metric } from "effect"

export const sessionsLive = Metric.gauge("sealgate_sessions_live", {
  description: "Sessions whose key is held right now",
})

export const sessionsCreated = Metric.counter("sealgate_sessions_created_total", {
  description: "Sessions begun",
  incremental: true,
})

const ended = Metric.counter("sealgate_sessions_ended_total", {
  description: "Sessions whose key was destroyed, by reason",
  incremental: true,
})
export type SessionEnd = "expired" | "spent" | "evicted" | "shutdown"
export const sessionsEnded: Readonly<Record<SessionEnd, Metric.Counter<number>>> = {
  expired: Metric.withAttributes(ended, { reason: "expired" }),
  spent: Metric.withAttributes(ended, { reason: "spent" }),
  evicted: Metric.withAttributes(ended, { reason: "evicted" }),
  shutdown: Metric.withAttributes(ended, { reason: "shutdown" }),
}

const refused = Metric.counter("sealgate_openings_failed_total", {
  description: "Sealed requests that were not opened or not served, by reason",
  incremental: true,
})
export type OpeningFailure = "unopenable" | "replayed" | "session-gone" | "too-large" | "stale"
export const openingsFailed = (reason: OpeningFailure) => Metric.withAttributes(refused, { reason })

export const framesSealed = Metric.counter("sealgate_frames_sealed_total", {
  description: "Response frames sealed",
  incremental: true,
})

const responses = Metric.counter("sealgate_sealed_responses_total", {
  description: "Sealed responses, by form and outcome",
  incremental: true,
})
export const sealedResponses = (form: string, status: string) => Metric.withAttributes(responses, { form, status })
