/** Trace context in and out (W3C Trace Context): `traceparent` and `tracestate`, in headers or under a seal. */
import { Context, Option, Tracer } from "effect"

export interface TraceContext {
  readonly traceparent: string
  readonly tracestate?: string | undefined
}

/** The caller's `tracestate`, an annotation of the caller's span. */
class TraceState extends Context.Service<TraceState, string>()("sealgate/domain/traceContext/TraceState") {}

const TRACEPARENT = /^([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/

/** Characters of a `traceparent` of version 00. */
const TRACEPARENT_LENGTH = 55
/** An invalid span id, for traces without a span. */
const NO_SPAN = "0".repeat(16)

/** A key, and a value that does not end in a space (§3.3.1.3). */
const MEMBER = /^[a-z\d][a-z\d_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/
const MAX_MEMBERS = 32
/** Characters of a `tracestate` that must be passed on (§3.3.1.5). */
const MAX_STATE_LENGTH = 512
/** Longest header that is parsed, in characters. */
const MAX_HEADER_LENGTH = 16 * MAX_STATE_LENGTH

/** A `tracestate` without optional white space and empty members; `undefined` if it is invalid. */
const stateOf = (header: string): string | undefined => {
  if (header.length > MAX_HEADER_LENGTH) return undefined
  const members = header
    .split(",")
    .map((member) => member.trim())
    .filter((member) => member !== "")
  const state = members.join(",")
  const fits = members.length <= MAX_MEMBERS && state.length <= MAX_STATE_LENGTH
  return fits && state !== "" && members.every((member) => MEMBER.test(member)) ? state : undefined
}

/** The caller's span; `undefined` if its headers are invalid. Later versions count as 00 (§4.3), except `ff`. */
export const callerSpan = (traceparent = "", tracestate = ""): Tracer.ExternalSpan | undefined => {
  const [, version, traceId, spanId, flags = "", more] = TRACEPARENT.exec(traceparent) ?? []
  if (traceId === undefined || spanId === undefined) return undefined
  if (version === "ff" || (version === "00" && more !== undefined)) return undefined
  const state = stateOf(tracestate)
  return Tracer.externalSpan({
    traceId,
    spanId,
    sampled: (Number.parseInt(flags, 16) & 1) === 1,
    annotations: state === undefined ? Context.empty() : Context.make(TraceState, state),
  })
}

const parentOf = (span: Tracer.AnySpan): Tracer.AnySpan | undefined =>
  span._tag === "ExternalSpan" ? undefined : Option.getOrUndefined(span.parent)

/** Trace id of the request behind a span, also one of its job, for problems and logs. `undefined` for background work. */
export const requestTraceId = (span: Tracer.AnySpan | undefined): string | undefined => {
  if (span === undefined) return undefined
  const begun = span._tag === "ExternalSpan" || span.kind === "server"
  return begun ? span.traceId : requestTraceId(parentOf(span))
}

/** The trace headers for a callee; the caller's own if spans are not exported, because ours were not kept. */
export const traceContextOf = (span: Tracer.AnySpan): TraceContext | undefined => {
  let known: Tracer.AnySpan | undefined = span
  while (known instanceof Tracer.NativeSpan) known = parentOf(known)
  if (known === undefined || known.spanId === NO_SPAN) return undefined
  let caller: Tracer.AnySpan | undefined = known
  while (caller?._tag === "Span") caller = parentOf(caller)
  return {
    traceparent: `00-${known.traceId}-${known.spanId}-${known.sampled ? "01" : "00"}`,
    tracestate: caller === undefined ? undefined : Context.getOrUndefined(caller.annotations, TraceState),
  }
}

/** Trace context as text for the database: `traceparent` and, after a space, `tracestate`. Always contains a trace id. */
export const storeTrace = (span: Tracer.Span): string => {
  const context = traceContextOf(span)
  if (context === undefined) return `00-${span.traceId}-${NO_SPAN}-00`
  return context.tracestate === undefined ? context.traceparent : `${context.traceparent} ${context.tracestate}`
}

/** The span stored by {@link storeTrace}. */
export const storedSpan = (stored: string): Tracer.ExternalSpan => {
  const traceparent = stored.slice(0, TRACEPARENT_LENGTH)
  const [, traceId = ""] = traceparent.split("-")
  return (
    callerSpan(traceparent, stored.slice(TRACEPARENT_LENGTH)) ??
    Tracer.externalSpan({ traceId, spanId: NO_SPAN, sampled: false })
  )
}
