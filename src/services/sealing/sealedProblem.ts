/** Problems of opened requests, which the client gets under the seal. */
import { Cause, Effect, Redacted, Schema } from "effect"
import { logFault } from "../logFault.ts"
import { makeProblem, type Problem } from "../../domain/problems/problem.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import { failureCodes } from "../../domain/upstream/failures.ts"
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

const valueOf = <A>(redacted: Redacted.Redacted<A> | undefined): A | undefined =>
  redacted === undefined ? undefined : Redacted.value(redacted)

/** The problem for the client, including the parts that are redacted elsewhere. */
export const problemOf = (error: ServingError): Problem => {
  if (error._tag === "Aborted") {
    return makeProblem({
      code: "draining",
      status: 503,
      title: "The proxy is shutting down; send the request again.",
    })
  }
  const { code, detail, errors, retryAfterMs, status } = error
  const said = error._tag === "UpstreamError" ? valueOf(error.said) : undefined
  return makeProblem({
    code,
    status,
    title: error._tag === "UpstreamError" ? failureCodes[error.code].title : error.title,
    ...withoutUndefined({
      retryable: error._tag === "Refused" ? error.retryable : undefined,
      detail: valueOf(detail),
      errors: valueOf(errors),
      provider_error: said?.error,
      provider_status: said?.status,
      retry_after_ms: retryAfterMs,
    }),
  })
}
