/** Problem documents (RFC 9457): the shape of every error over HTTP. */
import { Schema } from "effect"
import type * as Types from "./problemTypes.ts"

export const PROBLEM_CONTENT_TYPE = "application/problem+json"

export const ProblemIssue = Schema.Struct({
  path: Schema.String.annotate({ description: "Where in the request, such as `payload.limits.max_rounds`." }),
  message: Schema.String,
})
export type ProblemIssue = Types.ProblemIssue

export const Problem = Schema.Struct({
  type: Schema.String.annotate({ description: "A URN that names the kind of problem." }),
  title: Schema.String,
  status: Schema.Int,
  detail: Schema.optionalKey(Schema.String.annotate({ description: "What was wrong this time, and what to do." })),
  instance: Schema.optionalKey(Schema.String.annotate({ description: "The path of the request." })),
  code: Schema.String.annotate({ description: "Stable, for programs." }),
  trace_id: Schema.optionalKey(
    Schema.String.annotate({ description: "Finds the request in the operator's traces and logs." }),
  ),
  retryable: Schema.Boolean.annotate({ description: "Whether the same request may succeed later." }),
  retry_after_ms: Schema.optionalKey(
    Schema.Finite.annotate({ description: "Milliseconds after which another try may succeed." }),
  ),
  errors: Schema.optionalKey(
    Schema.Array(ProblemIssue).annotate({ description: "The members of the request that do not fit." }),
  ),
  provider_error: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Unknown).annotate({
      description: "The provider's error object; in sealed answers only.",
    }),
  ),
  provider_status: Schema.optionalKey(
    Schema.Int.annotate({ description: "The HTTP status of `provider_error`; in sealed answers only." }),
  ),
}).annotate({ identifier: "Problem" })
export type Problem = Types.Problem

/** The problem type of a code: a URN, because it names a problem and need not be a page. */
export const problemType = <Code extends string>(code: Code) => `urn:sealgate:problem:${code}` as const

/** Whether a problem with this status is likely to pass by itself. */
export const isRetryable = (status: number): boolean => status === 429 || status >= 500

export const makeProblem = (
  members: Pick<Problem, "code" | "status" | "title"> & Partial<Omit<Problem, "type">>,
): Problem => ({
  type: problemType(members.code),
  retryable: isRetryable(members.status),
  ...members,
})
