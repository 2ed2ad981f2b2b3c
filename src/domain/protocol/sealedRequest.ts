/** The payload of a sealed request (sealed protocol §3). */
import { Schema } from "effect"
import { isObject } from "../json/json.ts"

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

/** Fast check of {@link RequestHead}; the schema reports the faults of others. */
export const isRequestHead = (value: unknown): value is typeof RequestHead.Type =>
  isObject(value) && isRequestId(value["request_id"]) && Number.isSafeInteger(value["issued_at"])

/** Fast check of a request without headers, as most are; the schema decodes the others. */
export const isUsualRequest = (value: unknown): value is typeof SealedRequest.Type =>
  isObject(value) &&
  typeof value["api"] === "string" &&
  Object.hasOwn(value, "body") &&
  !Object.hasOwn(value, "headers") &&
  (!Object.hasOwn(value, "provider") || (typeof value["provider"] === "string" && value["provider"] !== "")) &&
  (!Object.hasOwn(value, "restart") || typeof value["restart"] === "boolean")
