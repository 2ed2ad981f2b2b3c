/** Reads the content of an opened request. */
import { isUtf8 } from "node:buffer"
import { Clock, Effect, Metric, Predicate, Redacted, Result, Schema, Scope, type Tracer } from "effect"
import { fromUtf8 } from "../../domain/bytes/bytes.ts"
import { API_NAMES, apiOf, isApiName } from "../../domain/upstream/apis.ts"
import { CALL_LIMITS, faultSteps, NOT_JSON, NOT_UTF8 } from "../../domain/json/iJson.ts"
import { isObject, type JsonObject, parseJson } from "../../domain/json/json.ts"
import { schemaIssues } from "../../domain/json/schemaIssues.ts"
import { Outline } from "../../domain/json/outline.ts"
import type { RawObject } from "../../domain/json/rawObject.ts"
import type { SealedContent } from "../../domain/protocol/sealedContent.ts"
import { isRequestId, RequestHead, SealedRequest } from "../../domain/protocol/sealedRequest.ts"
import { paceOf } from "../../domain/protocol/pace.ts"
import { callerSpan } from "../../domain/operations/traceContext.ts"
import { type Form, MAX_SKEW_MS } from "../../domain/protocol/transcript.ts"
import { type ApiRequest, ProviderId, UpstreamError } from "../../domain/upstream/upstream.ts"
import { type Callers, Source } from "../access/Callers.ts"
import type { TooManyInFlight } from "../access/ConcurrencyLimits.ts"
import type { RateLimited } from "../access/RateLimits.ts"
import { inSteps } from "../inSteps.ts"
import type { Admitted } from "./Answering.ts"
import type { Opened } from "./RequestOpener.ts"
import { apiRequest, checkedMembers, valuesIn } from "./apiRequest.ts"
import type { RequestIds } from "./RequestIds.ts"
import { invalidRequest, Refused } from "./sealedProblem.ts"
import { openingsFailed } from "./SealingMetrics.ts"

const decodeHead = Schema.decodeUnknownEffect(RequestHead)
const decodeRequest = Schema.decodeUnknownEffect(SealedRequest)
const isProvider = Schema.is(ProviderId)

/** An opened request: members that can be read even if it is invalid, and the check of the rest. */
export interface ReadRequest {
  readonly requestId: string | null
  readonly form: Form
  readonly pace: number
  /** The API's name, even if it is unknown. */
  readonly api: unknown
  /** The caller's trace, if it can be continued. */
  readonly trace: Tracer.ExternalSpan | undefined
  /** Checks the request and its caller. */
  readonly admit: Effect.Effect<Admitted, Refused | UpstreamError, Scope.Scope>
}

export interface CallerChecks {
  readonly callers: Pick<Callers["Service"], "identify" | "enter">
  readonly requestIds: Pick<RequestIds["Service"], "claim">
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

/** Identifies the caller by its credential. A refused credential counts against the source. */
const identify = ({ callers }: CallerChecks, opened: Opened) =>
  Effect.tap(callers.identify(fromUtf8(opened.request.credential)), (caller) =>
    Effect.sync(() => opened.noteAccepted(caller !== undefined)),
  )

/** Refuses an invalid credential, a used request id and a caller over its limits. `key` identifies the caller. */
const checkCaller = Effect.fnUntraced(function* (checks: CallerChecks, opened: Opened, requestId: string) {
  const { callers, requestIds } = checks
  const caller = yield* identify(checks, opened).pipe(
    Effect.tapErrorTag("TokenRefused", () => Metric.update(openingsFailed("unauthorized"), 1)),
    Effect.mapError(({ code, detail, status, title }) =>
      detail === undefined
        ? new Refused({ status, code, title })
        : new Refused({ status, code, title, detail: Redacted.make(detail) }),
    ),
  )
  const source = yield* Source
  if (!(yield* requestIds.claim(opened.request.credential, requestId, caller === undefined ? source : undefined))) {
    return yield* new Refused({
      status: 409,
      code: "replayed",
      title: "A request with this id came before, and may have been served.",
      detail: Redacted.make("Take a new request_id for a new request."),
    })
  }
  yield* Effect.mapError(callers.enter(caller), refusedLimit)
  return { caller, key: caller?.id ?? source }
})

interface Payload {
  /** The parsed payload. If its `body` is an object, only the members that are checked for every API are parsed. */
  readonly value: unknown
  /** The bytes of the member `body`, if it is an object. */
  readonly body: RawObject | undefined
}

/** The known members except the body. Only these are parsed, because there may be thousands of others. */
const MEMBERS = [...Object.keys(RequestHead.fields), ...Object.keys(SealedRequest.fields)]
  .concat("pace", "traceparent", "tracestate")
  .filter((name) => name !== "body")

/** Parses a payload and overwrites it, except its body, which may be sent to a provider unchanged. */
function* parsePayload({ payload }: SealedContent): Generator<void, Result.Result<Payload, Refused>> {
  const outline = new Outline("body")
  const fault = isUtf8(payload) ? yield* faultSteps(payload, CALL_LIMITS, outline) : NOT_UTF8
  if (fault !== undefined) {
    payload.fill(0)
    return Result.fail(
      fault === NOT_JSON
        ? invalidRequest("The request is not JSON.")
        : invalidRequest("The request is not JSON as it is taken here.", { detail: Redacted.make(fault) }),
    )
  }
  const body = outline.objectIn(payload)
  const object = outline.object(payload)
  const value = Outline.isObject(payload)
    ? valuesIn(object, body === undefined ? [...MEMBERS, "body"] : MEMBERS)
    : parseJson(fromUtf8(payload))
  if (body === undefined || !isObject(value)) {
    payload.fill(0)
    return Result.succeed({ value, body: undefined })
  }
  const from = body.bytes.byteOffset - payload.byteOffset
  payload.fill(0, 0, from).fill(0, from + body.bytes.length)
  return Result.succeed({ value: { ...value, body: checkedMembers(body) }, body })
}

const isStream = ({ body }: JsonObject): boolean => isObject(body) && body["stream"] === true

/** Reads the payload of a request and overwrites what is no longer needed. Mistakes are reported under the seal. */
export const readRequest = (opened: Opened, checks: CallerChecks): Effect.Effect<ReadRequest> =>
  Effect.map(inSteps(parsePayload(opened.request)), (payload) => requestIn(payload, opened, checks))

const requestIn = (payload: Result.Result<Payload, Refused>, opened: Opened, checks: CallerChecks): ReadRequest => {
  const members = Result.isSuccess(payload) && isObject(payload.success.value) ? payload.success.value : {}
  const { api, pace, request_id, traceparent, tracestate } = members
  return {
    requestId: isRequestId(request_id) ? request_id : null,
    form: isStream(members) ? "stream" : "complete",
    pace: paceOf(pace),
    api,
    trace: Predicate.isString(traceparent)
      ? callerSpan(traceparent, Predicate.isString(tracestate) ? tracestate : undefined)
      : undefined,
    admit: admitRequest(payload, opened, checks),
  }
}

/** Checks what does not depend on the caller: that the request can be read, and that it is recent. */
const checkHead = Effect.fnUntraced(function* (payload: Result.Result<Payload, Refused>) {
  const { body, value } = yield* Effect.fromResult(payload)
  const { issued_at, request_id } = yield* decodeHead(value)
  if (Math.abs((yield* Clock.currentTimeMillis) - issued_at) > MAX_SKEW_MS) {
    yield* Metric.update(openingsFailed("stale"), 1)
    return yield* new Refused({
      status: 400,
      code: "stale",
      title: "The request is too old or from the future.",
      detail: Redacted.make("issued_at must be within 60 s of the proxy's clock; begin a new session to calibrate."),
    })
  }
  return { raw: body, request_id, value }
})

const admitRequest = Effect.fnUntraced(
  function* (payload: Result.Result<Payload, Refused>, opened: Opened, checks: CallerChecks) {
    if (Result.isSuccess(payload)) {
      const { body } = payload.success
      yield* Scope.addFinalizer(
        yield* Effect.scope,
        Effect.sync(() => body?.overwrite()),
      )
    }
    // Checks the credential also after a failure, so that strangers cannot fail without limit.
    const { raw, request_id, value } = yield* Effect.tapError(checkHead(payload), () =>
      Effect.ignore(identify(checks, opened)),
    )
    const { caller, key } = yield* checkCaller(checks, opened, request_id)
    const { api, body, headers = {}, provider, restart } = yield* decodeRequest(value)
    if (!isApiName(api)) {
      return yield* new Refused({
        status: 400,
        code: "unsupported-api",
        title: "The request is for an API that is not served here.",
        detail: Redacted.make(`APIs that are known here: ${API_NAMES.join(", ")}.`),
      })
    }
    const question = yield* apiRequest({ api, headers, raw, body })
    if (provider !== undefined && !isProvider(provider)) {
      return yield* new UpstreamError({ code: "provider-not-configured" })
    }
    const request: ApiRequest = { ...question, provider, caller: key, restart: restart ?? apiOf(api).stream?.restart }
    return { caller, request } satisfies Admitted
  },
  Effect.catchTag("SchemaError", ({ issue }) =>
    Effect.fail(
      invalidRequest("The request does not have the expected shape.", { errors: Redacted.make(schemaIssues(issue)) }),
    ),
  ),
)
