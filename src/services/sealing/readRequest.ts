/** Reads the content of an opened request. */
import { Clock, Effect, Metric, Predicate, Redacted, Result, Schema, type Scope, type Tracer } from "effect"
import { fromUtf8 } from "../../domain/bytes.ts"
import { ChatInput, normalize } from "../../domain/chat.ts"
import { iJsonText } from "../../domain/iJson.ts"
import { misfits } from "../../domain/misfits.ts"
import type { SealedContent } from "../../domain/sealedContent.ts"
import { CHAT_COMPLETIONS } from "../../domain/apis.ts"
import { RequestHead, SealedRequest } from "../../domain/sealedRequest.ts"
import { paceOf } from "../../domain/pace.ts"
import { callerSpan } from "../../domain/traceContext.ts"
import { type Form, MAX_SKEW_MS } from "../../domain/transcript.ts"
import { ProviderId, UpstreamError, type UpstreamRequest } from "../../domain/upstream.ts"
import { Callers, Source } from "../access/Callers.ts"
import type { TooManyInFlight } from "../access/ConcurrencyLimits.ts"
import type { RateLimited } from "../access/RateLimits.ts"
import type { Opened } from "./SealedExchange.ts"
import { RequestIds } from "./RequestIds.ts"
import { Refused } from "./sealedProblem.ts"
import { openingsFailed } from "./SealingMetrics.ts"

const parse = Schema.decodeUnknownResult(Schema.fromJsonString(Schema.Unknown))
const isRequestId = Schema.is(RequestHead.fields.request_id)
const decodeHead = Schema.decodeUnknownEffect(RequestHead)
const decodeRequest = Schema.decodeUnknownEffect(SealedRequest)
const decodeBody = Schema.decodeUnknownEffect(Schema.Struct({ body: ChatInput }))
const isProvider = Schema.is(ProviderId)

const invalid = (title: string, more: Partial<Pick<Refused, "detail" | "errors">> = {}) =>
  new Refused({ status: 400, code: "invalid-request", title, ...more })

/** The members that can be read even if the request is invalid, and the request itself or its refusal. */
export interface Asked {
  readonly requestId: string | null
  readonly form: Form
  readonly pace: number
  /** The caller's trace, if it names one that can be continued. */
  readonly trace: Tracer.ExternalSpan | undefined
  readonly request: Effect.Effect<UpstreamRequest, Refused | UpstreamError, RequestIds | Callers | Scope.Scope>
}

const refusedLimit = (error: RateLimited | TooManyInFlight) =>
  new Refused({
    status: 429,
    code: "rate-limited",
    title: "Too many requests.",
    detail: Redacted.make(
      error._tag === "RateLimited"
        ? `At most ${error.limit} requests per minute are accepted from one caller.`
        : `At most ${error.limit} requests of one caller may be in flight.`,
    ),
    ...(error._tag === "RateLimited" ? { retryAfterMs: error.retryAfterMs } : {}),
  })

/**
 * Admits a caller whose credential is valid, who has requests left, and who has not used this request id before. Gives
 * what tells callers apart.
 */
const admit = Effect.fnUntraced(function* ({ credential }: SealedContent, requestId: string) {
  const callers = yield* Callers
  const requestIds = yield* RequestIds
  const caller = yield* callers.identify(fromUtf8(credential)).pipe(
    Effect.tapErrorTag("TokenRefused", () => Metric.update(openingsFailed("unauthorized"), 1)),
    Effect.mapError(({ code, status, title }) => new Refused({ status, code, title })),
  )
  if (!(yield* requestIds.claim(credential, requestId))) {
    return yield* new Refused({
      status: 409,
      code: "replayed",
      title: "A request with this id came before, and may have been served.",
      detail: Redacted.make("Take a new request_id for a new request."),
    })
  }
  yield* Effect.mapError(callers.enter(caller), refusedLimit)
  return caller?.id ?? (yield* Source)
})

/** Parses the JSON of a payload, and overwrites the payload. */
const parsePayload = ({ payload }: SealedContent): Result.Result<unknown, Refused> => {
  const text = iJsonText(payload)
  payload.fill(0)
  if (typeof text !== "string") {
    return Result.fail(invalid("The request is not JSON as it is taken here.", { detail: Redacted.make(text.message) }))
  }
  return Result.mapError(parse(text), () => invalid("The request is not JSON."))
}

const isStream = (payload: unknown): boolean =>
  Predicate.hasProperty(payload, "body") &&
  Predicate.hasProperty(payload.body, "stream") &&
  payload.body.stream === true

/** Reads the payload of a request, and overwrites it. Everything wrong with it is reported under the seal. */
export const readRequest = ({ request: content }: Opened): Asked => {
  const payload = parsePayload(content)
  const members = Result.isSuccess(payload) && Predicate.isObject(payload.success) ? payload.success : {}
  const { pace, request_id, traceparent, tracestate } = members as Readonly<Record<string, unknown>>
  return {
    requestId: isRequestId(request_id) ? request_id : null,
    form: isStream(members) ? "stream" : "complete",
    pace: paceOf(pace),
    trace: Predicate.isString(traceparent)
      ? callerSpan(traceparent, Predicate.isString(tracestate) ? tracestate : undefined)
      : undefined,
    request: Effect.flatMap(Effect.fromResult(payload), (payload) => checkRequest(payload, content)),
  }
}

const checkRequest = Effect.fnUntraced(
  function* (payload: unknown, content: SealedContent) {
    const { issued_at, request_id } = yield* decodeHead(payload)
    if (Math.abs((yield* Clock.currentTimeMillis) - issued_at) > MAX_SKEW_MS) {
      yield* Metric.update(openingsFailed("stale"), 1)
      return yield* new Refused({
        status: 400,
        code: "stale",
        title: "The request is too old or from the future.",
        detail: Redacted.make("issued_at must be within 60 s of the proxy's clock; begin a new session to calibrate."),
      })
    }
    const caller = yield* admit(content, request_id)
    const { api, provider, restart } = yield* decodeRequest(payload)
    if (api !== CHAT_COMPLETIONS) {
      return yield* new Refused({
        status: 400,
        code: "unsupported-api",
        title: "The request is for an API that is not served here.",
        detail: Redacted.make(`The only API is ${CHAT_COMPLETIONS}.`),
      })
    }
    const { body } = yield* decodeBody(payload)
    if (provider !== undefined && !isProvider(provider)) {
      return yield* new UpstreamError({ code: "provider-not-configured" })
    }
    const request: UpstreamRequest = { completion: normalize(body), provider, caller, restart }
    return request
  },
  Effect.catchTag("SchemaError", ({ issue }) =>
    Effect.fail(invalid("The request does not have the expected shape.", { errors: Redacted.make(misfits(issue)) })),
  ),
)
