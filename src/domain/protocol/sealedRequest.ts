/** What is inside a sealed request (sealed protocol §3). */
import { Schema } from "effect"
import { isObject } from "../json/json.ts"

const REQUEST_ID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/

export const isRequestId = (value: unknown): value is string => typeof value === "string" && REQUEST_ID.test(value)

/** The members by which a request can be identified even if everything else in it is wrong. */
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

/** Whether a request has the head that it should, at a glance: the schema says of others what is wrong. */
export const isRequestHead = (value: unknown): value is typeof RequestHead.Type =>
  isObject(value) && isRequestId(value["request_id"]) && Number.isSafeInteger(value["issued_at"])

/** Whether a request is one as most are, at a glance: without headers. The schema judges the others. */
export const isUsualRequest = (value: unknown): value is typeof SealedRequest.Type =>
  isObject(value) &&
  typeof value["api"] === "string" &&
  Object.hasOwn(value, "body") &&
  !Object.hasOwn(value, "headers") &&
  (!Object.hasOwn(value, "provider") || (typeof value["provider"] === "string" && value["provider"] !== "")) &&
  (!Object.hasOwn(value, "restart") || typeof value["restart"] === "boolean")
