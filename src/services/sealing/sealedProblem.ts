/** Why a request that was opened is not served, or not to its end, as it is told inside the seal. */
import { Redacted, Schema } from "effect"
import { makeProblem, type Problem } from "../../domain/problem.ts"
import { failureCodes } from "../../domain/failures.ts"
import type { UpstreamError } from "../../domain/upstream.ts"
import type { Aborted } from "../lifecycle/Drain.ts"

/** A request that was opened but will not be served. */
export class Refused extends Schema.TaggedError<Refused>()("Refused", {
  status: Schema.Int,
  code: Schema.String,
  title: Schema.String,
  detail: Schema.optionalKey(Schema.Redacted(Schema.String)),
  errors: Schema.optionalKey(
    Schema.Redacted(Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String }))),
  ),
  /** Milliseconds after which another try may succeed. */
  retryAfterMs: Schema.optionalKey(Schema.Finite),
}) {}

/** The problem as it is read by the client alone: with what is redacted everywhere else. */
export const problemOf = (error: Refused | UpstreamError | Aborted): Problem => {
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
      })
    case "Refused":
      return makeProblem({
        code: error.code,
        status: error.status,
        title: error.title,
        ...(error.detail === undefined ? {} : { detail: Redacted.value(error.detail) }),
        ...(error.errors === undefined ? {} : { errors: Redacted.value(error.errors) }),
      })
  }
}
