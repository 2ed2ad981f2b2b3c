/**
 * Problem documents (RFC 9457): the one shape of every error that crosses HTTP. `code` is stable and meant for
 * programs, `detail` says what was wrong and what to do, `retryable` whether the same request may succeed later.
 */
import { Schema } from "effect"
import type * as Types from "./problemTypes.ts"

export const PROBLEM_CONTENT_TYPE = "application/problem+json"

/** One member of a request that did not fit, and why. */
export const ProblemIssue = Schema.Struct({ path: Schema.String, message: Schema.String })
export type ProblemIssue = Types.ProblemIssue

export const Problem = Schema.Struct({
  type: Schema.String,
  title: Schema.String,
  status: Schema.Int,
  detail: Schema.optionalKey(Schema.String),
  instance: Schema.optionalKey(Schema.String),
  code: Schema.String,
  trace_id: Schema.optionalKey(Schema.String),
  retryable: Schema.Boolean,
  /** Milliseconds after which another try may succeed: under the seal, where no header can say it. */
  retry_after_ms: Schema.optionalKey(Schema.Finite),
  errors: Schema.optionalKey(Schema.Array(ProblemIssue)),
  /** Under the seal: how the provider itself put it, and with which HTTP status, for callers whose SDKs know its form. */
  provider_error: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  provider_status: Schema.optionalKey(Schema.Int),
}).annotate({ identifier: "Problem" })
export type Problem = Types.Problem

/** The problem type of a code: a URN, because a problem type names a problem and need not be a page. */
export const problemType = <Code extends string>(code: Code) => `urn:sealgate:problem:${code}` as const

/** Whether a problem with this status is likely to pass by itself. */
export const isRetryable = (status: number): boolean => status === 429 || status >= 500

/** Builds a problem document; whatever is not given is left out. */
export const makeProblem = (
  members: Pick<Problem, "code" | "status" | "title"> & Partial<Omit<Problem, "type">>,
): Problem => ({
  type: problemType(members.code),
  retryable: isRetryable(members.status),
  ...members,
})
