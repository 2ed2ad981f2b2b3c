/** What an opened request asks for. */
import { Clock, Effect, Metric, Redacted, Schema } from "effect"
import { fromUtf8 } from "../../domain/bytes.ts"
import { ChatInput, normalize } from "../../domain/chat.ts"
import { iJsonText } from "../../domain/iJson.ts"
import { misfits } from "../../domain/misfits.ts"
import type { SealedContent } from "../../domain/sealedContent.ts"
import { CHAT_COMPLETIONS, RequestHead, SealedRequest } from "../../domain/sealedRequest.ts"
import { MAX_SKEW_MS } from "../../domain/transcript.ts"
import { ProviderId, UpstreamError, type UpstreamRequest } from "../../domain/upstream.ts"
import { Callers } from "../access/Callers.ts"
import type { TooManyInFlight } from "../access/ConcurrencyLimits.ts"
import type { RateLimited } from "../access/RateLimits.ts"
import type { Opened } from "./SealedExchange.ts"
import { Refused } from "./sealedProblem.ts"
import { openingsFailed } from "./SealingMetrics.ts"

const parse = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Unknown))
const decodeHead = Schema.decodeUnknownEffect(RequestHead)
const decodeRequest = Schema.decodeUnknownEffect(SealedRequest)
const decodeBody = Schema.decodeUnknownEffect(Schema.Struct({ body: ChatInput }))
const isProvider = Schema.is(ProviderId)

const invalid = (title: string, more: Partial<Pick<Refused, "detail" | "errors">> = {}) =>
  new Refused({ status: 400, code: "invalid-request", title, ...more })

/** The JSON of the payload, which is overwritten. */
const parsePayload = ({ payload }: SealedContent) =>
  Effect.suspend(() => {
    const text = iJsonText(payload)
    return typeof text === "string"
      ? Effect.succeed(text)
      : Effect.fail(invalid("The request is not JSON as it is taken here.", { detail: Redacted.make(text.message) }))
  }).pipe(Effect.flatMap(parse), Effect.ensuring(Effect.sync(() => payload.fill(0))))

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

/** Lets a caller in whose credential counts and who has requests left. */
const admit = Effect.fnUntraced(function* ({ credential }: SealedContent) {
  const callers = yield* Callers
  const caller = yield* callers.identify(fromUtf8(credential)).pipe(
    Effect.tapErrorTag("TokenRefused", () => Metric.update(openingsFailed("unauthorized"), 1)),
    Effect.mapError(({ code, status, title }) => new Refused({ status, code, title })),
  )
  yield* Effect.mapError(callers.enter(caller), refusedLimit)
})

/** Decodes the payload of a request, and overwrites it. Whatever is wrong with it is told inside the seal. */
export const readRequest = Effect.fnUntraced(
  function* (opened: Opened) {
    const payload = yield* parsePayload(opened.request)
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
    yield* admit(opened.request)
    const { api, provider, restart } = yield* decodeRequest(payload)
    if (api !== CHAT_COMPLETIONS) {
      return yield* new Refused({
        status: 400,
        code: "unsupported-api",
        title: "The request is for an API that is not served here.",
        detail: Redacted.make(`What can be asked for is ${CHAT_COMPLETIONS}.`),
      })
    }
    const { body } = yield* decodeBody(payload)
    if (provider !== undefined && !isProvider(provider)) {
      return yield* new UpstreamError({ code: "provider-not-configured" })
    }
    const upstream: UpstreamRequest = { completion: normalize(body), provider, restart }
    return { id: request_id, stream: body.stream === true, upstream }
  },
  Effect.catchTag("SchemaError", ({ issue }) =>
    Effect.fail(invalid("The request does not have the expected shape.", { errors: Redacted.make(misfits(issue)) })),
  ),
)
