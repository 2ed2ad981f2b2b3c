/** Counters of the sealed proxy. None of them carries anything a client sent. */
import { counter, gauge, type OpeningFailure, type SessionEnd } from "../metrics.ts"

export const sessionsLive = gauge("sealgate_sessions_live")()
export const sessionsCreated = counter("sealgate_sessions_created_total")()

const ended = counter("sealgate_sessions_ended_total")
export const sessionsEnded = (reason: SessionEnd) => ended({ reason })

const refused = counter("sealgate_openings_failed_total")
export const openingsFailed = (reason: OpeningFailure) => refused({ reason })

export const framesSealed = counter("sealgate_frames_sealed_total")()

const responses = counter("sealgate_sealed_responses_total")
export const sealedResponses = (form: string, status: string) => responses({ form, status })
