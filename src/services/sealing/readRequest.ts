/** What an opened request asks for. */
import { Clock, Effect, Metric, Redacted, Schema } from "effect"
import { normalize } from "../../domain/chat.ts"
import { iJsonText } from "../../domain/iJson.ts"
import { misfits } from "../../domain/misfits.ts"
import { SealedRequest } from "../../domain/sealedRequest.ts"
import { MAX_SKEW_MS } from "../../domain/transcript.ts"
import { ProviderId, UpstreamError, type UpstreamRequest } from "../../domain/upstream.ts"
import type { Opened } from "./SealedExchange.ts"
import { Refused } from "./sealedProblem.ts"
import { openingsFailed } from "./SealingMetrics.ts"

const decodeRequest = Schema.decodeUnknownEffect(Schema.fromJsonString(SealedRequest))
const isProvider = Schema.is(ProviderId)

const invalid = (title: string, more: Partial<Pick<Refused, "detail" | "errors">> = {}) =>
  new Refused({ status: 400, code: "invalid-request", title, ...more })

/** Decodes the payload of a request, and overwrites it. Whatever is wrong with it is told inside the seal. */
export const readRequest = Effect.fnUntraced(function* (opened: Opened) {
  const request = yield* Effect.suspend(() => {
    const text = iJsonText(opened.payload)
    return typeof text === "string"
      ? Effect.succeed(text)
      : Effect.fail(invalid("The request is not JSON as it is taken here.", { detail: Redacted.make(text.message) }))
  }).pipe(
    Effect.flatMap(decodeRequest),
    Effect.catchTag("SchemaError", ({ issue }) =>
      Effect.fail(invalid("The request does not have the expected shape.", { errors: Redacted.make(misfits(issue)) })),
    ),
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
  const { provider, restart } = request
  if (provider !== undefined && !isProvider(provider)) {
    return yield* new UpstreamError({ code: "provider-not-configured" })
  }
  const upstream: UpstreamRequest = { completion: normalize(request.completion), provider, restart }
  return { id: request.request_id, stream: request.completion.stream === true, upstream }
})
