/** What an opened request asks for. */
import { Clock, Effect, Metric, Redacted, Schema, SchemaIssue } from "effect"
import { fromUtf8 } from "../../domain/bytes.ts"
import { normalize } from "../../domain/chat.ts"
import { isWithinJsonLimits, JSON_LIMITS_DETAIL } from "../../domain/jsonLimits.ts"
import { SealedRequest } from "../../domain/sealedRequest.ts"
import { MAX_SKEW_MS } from "../../domain/transcript.ts"
import { ProviderId, UpstreamError, type UpstreamRequest } from "../../domain/upstream.ts"
import type { Opened } from "./SealedExchange.ts"
import { Refused } from "./sealedProblem.ts"
import { openingsFailed } from "./SealingMetrics.ts"

const decodeRequest = Schema.decodeUnknownEffect(Schema.fromJsonString(SealedRequest))
const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()
const isProvider = Schema.is(ProviderId)

const invalid = (title: string, more: Partial<Pick<Refused, "detail" | "errors">> = {}) =>
  new Refused({ status: 400, code: "invalid-request", title, ...more })

const pathOf = (path: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined): string =>
  (path ?? []).map((segment) => String(typeof segment === "object" ? segment.key : segment)).join(".")

/** Decodes the payload of a request, and overwrites it. Whatever is wrong with it is told inside the seal. */
export const readRequest = Effect.fnUntraced(function* (opened: Opened) {
  const request = yield* Effect.try({
    try: () => fromUtf8(opened.payload),
    catch: () => invalid("The payload is not UTF-8."),
  }).pipe(
    Effect.filterOrFail(isWithinJsonLimits, () =>
      invalid("The request is nested too deeply, or has too many members.", {
        detail: Redacted.make(JSON_LIMITS_DETAIL),
      }),
    ),
    Effect.flatMap(decodeRequest),
    Effect.catchTag("SchemaError", ({ issue }) => {
      const errors = formatIssue(issue).issues.map(({ message, path }) => ({ path: pathOf(path), message }))
      return Effect.fail(invalid("The request does not have the expected shape.", { errors: Redacted.make(errors) }))
    }),
    Effect.ensuring(Effect.sync(() => opened.payload.fill(0))),
  )
  if (Math.abs((yield* Clock.currentTimeMillis) - request.issued_at) > MAX_SKEW_MS) {
    yield* Metric.update(openingsFailed("stale"), 1)
    return yield* new Refused({
      status: 400,
      code: "stale",
      title: "The request is too old or from the future.",
      detail: Redacted.make("issued_at must be within 60 s of the proxy's clock; begin a new session to calibrate."),
    })
  }
  const { provider } = request
  if (provider !== undefined && !isProvider(provider)) {
    return yield* new UpstreamError({ code: "provider-not-configured" })
  }
  const upstream: UpstreamRequest = { completion: normalize(request.completion), provider }
  return { id: request.request_id, stream: request.completion.stream === true, upstream }
})
