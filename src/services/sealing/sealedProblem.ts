/** Problems of opened requests, which the client gets under the seal. */
import { Cause, Effect, Redacted, Schema } from "effect"
import { logFault } from "../logFault.ts"
import { makeProblem, type Problem } from "../../domain/problems/problem.ts"
import { failureCodes } from "../../domain/upstream/failures.ts"
import type { ProviderError } from "../../domain/problems/providerError.ts"
import type { UpstreamError } from "../../domain/upstream/upstream.ts"
import type { Aborted } from "../lifecycle/Drain.ts"

/** A request that was opened but will not be served. */
export class Refused extends Schema.TaggedError<Refused>()("Refused", {
  status: Schema.Int,
  code: Schema.String,
  title: Schema.String,
  /** By default derived from the status. */
  retryable: Schema.optionalKey(Schema.Boolean),
  detail: Schema.optionalKey(Schema.Redacted(Schema.String)),
  errors: Schema.optionalKey(
    Schema.Redacted(Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String }))),
  ),
  /** Milliseconds after which another try may succeed. */
  retryAfterMs: Schema.optionalKey(Schema.Finite),
}) {}

/** The request violates the protocol or its API. */
export const invalidRequest = (title: string, more: Partial<Pick<Refused, "detail" | "errors">> = {}): Refused =>
  new Refused({ status: 400, code: "invalid-request", title, ...more })

/** Every failure that an opened request can end with. */
export type ServingError = Refused | UpstreamError | Aborted

/** Logs a defect by its place in the code, and fails with a problem of status 500. */
export const notingDefects = <A, E, R>(serving: Effect.Effect<A, E, R>): Effect.Effect<A, E | Refused, R> =>
  Effect.catchDefect(serving, (defect) =>
    Effect.andThen(
      logFault("request failed", Cause.die(defect)),
      Effect.fail(
        new Refused({
          status: 500,
          code: "internal",
          title: "Something went wrong here.",
          detail: Redacted.make("It is not your request's fault. The operator finds the details in the proxy's log."),
          retryable: false,
        }),
      ),
    ),
  )

const providerErrorOf = ({ error, status }: ProviderError) => ({
  provider_error: error,
  ...(status === undefined ? {} : { provider_status: status }),
})

/** The problem for the client, including the parts that are redacted elsewhere. */
export const problemOf = (error: ServingError): Problem => {
  switch (error._tag) {
    case "Aborted":
      return makeProblem({
        code: "draining",
        status: 503,
        title: "The proxy is shutting down; send the request again.",
      })
    case "UpstreamError":
      return makeProblem({
        code: error.code,
        status: error.status,
        title: failureCodes[error.code].title,
        ...(error.detail === undefined ? {} : { detail: Redacted.value(error.detail) }),
        ...(error.errors === undefined ? {} : { errors: Redacted.value(error.errors) }),
        ...(error.said === undefined ? {} : providerErrorOf(Redacted.value(error.said))),
        ...(error.retryAfterMs === undefined ? {} : { retry_after_ms: error.retryAfterMs }),
      })
    case "Refused":
      return makeProblem({
        code: error.code,
        status: error.status,
        title: error.title,
        ...(error.retryable === undefined ? {} : { retryable: error.retryable }),
        ...(error.detail === undefined ? {} : { detail: Redacted.value(error.detail) }),
        ...(error.errors === undefined ? {} : { errors: Redacted.value(error.errors) }),
        ...(error.retryAfterMs === undefined ? {} : { retry_after_ms: error.retryAfterMs }),
      })
  }
}
