/** The payload of a sealed request (sealed protocol §3). */
import { Schema } from "effect"

const REQUEST_ID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/

export const isRequestId = (value: unknown): value is string => typeof value === "string" && REQUEST_ID.test(value)

/** The members that identify a request even if the rest is invalid. */
export const RequestHead = Schema.Struct({
  /** Chosen by the client; names the request in the receipt. */
  request_id: Schema.String.check(
    Schema.isPattern(REQUEST_ID, {
      expected: "a UUID in its lower-case text form",
    }),
  ),
  /** Milliseconds since the epoch on the session's calibrated clock. */
  issued_at: Schema.Int,
})

export const SealedRequest = Schema.Struct({
  /** The provider that must serve the request. */
  provider: Schema.optionalKey(Schema.NonEmptyString),
  /** Whether a stream may restart after a chunk was sealed; the default depends on the API. */
  restart: Schema.optionalKey(Schema.Boolean),
  /** The API of `body`. */
  api: Schema.String,
  /** Headers of the vendor's API that affect the model call. */
  headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  body: Schema.Unknown,
})
