/** What is inside a sealed request (sealed protocol §3). */
import { Schema } from "effect"

/** The members by which a request can be identified even if everything else in it is wrong. */
export const RequestHead = Schema.Struct({
  /** Chosen by the client; names the request in the receipt. */
  request_id: Schema.String.check(
    Schema.isPattern(/^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/, {
      expected: "a UUID in its lower-case text form",
    }),
  ),
  /** Milliseconds since the epoch on the session's calibrated clock. */
  issued_at: Schema.Int,
})

export const SealedRequest = Schema.Struct({
  /** Which provider must serve the request. */
  provider: Schema.optionalKey(Schema.NonEmptyString),
  /** Whether a stream may begin again after a chunk of it was sealed; by default as its API has it. */
  restart: Schema.optionalKey(Schema.Boolean),
  /** How to read `body`. */
  api: Schema.String,
  /** Headers of the vendor's API that say how the model is called. */
  headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  body: Schema.Unknown,
})
