/** Explains failures to the user, with advice. */
import { SealgateError, Unreachable } from "../../client/errors.ts"
import { GatewayProblem } from "../../client/gateway/GatewayProblem.ts"
import type { Problem, ProblemIssue } from "../../domain/problems/problem.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"

export interface Failure {
  readonly title: string
  readonly detail?: string
  readonly issues: ReadonlyArray<ProblemIssue>
  readonly advice: string
  /** The id with which to search the gateway's logs and traces. */
  readonly traceId?: string
  readonly code?: string
  /** Retrying cannot help. */
  readonly final?: true
}

const FINAL: ReadonlySet<number> = new Set([401, 403, 404])

const adviceFor = ({ code, errors = [], retryable, status }: Problem): string => {
  if (status === 401) return "Sign in again with a token that is valid now."
  if (status === 403) return "Sign in with a token that has this role."
  if (status === 404) return "It may have been deleted, or belong to another tenant. Go back to the list."
  if (status === 412) return "Someone else changed it. Load it again."
  if (status === 413) return "Make the text shorter."
  if (status === 429) return "Wait a little: the gateway limits requests per minute."
  if (code === "cursor-invalid") return "Start again from the first page."
  if (status === 400 || status === 422)
    return errors.length > 0
      ? "Correct the fields named above and send it again."
      : "Change what you asked for, and send it again."
  return retryable ? "Try again in a moment." : "If it happens again, look for the trace id in the gateway's log."
}

/** Explains a problem document, from an answer or a job. */
export const failureOf = (problem: Problem): Failure => ({
  title: problem.title,
  ...withoutUndefined({ detail: problem.detail }),
  issues: problem.errors ?? [],
  advice: adviceFor(problem),
  ...withoutUndefined({ traceId: problem.trace_id }),
  code: problem.code,
  ...(FINAL.has(problem.status) ? { final: true } : {}),
})

export const explain = (error: unknown): Failure => {
  if (error instanceof GatewayProblem) return failureOf(error.problem)
  if (error instanceof Unreachable) {
    const advice = "Check that it is running and reachable from this machine, then try again."
    return { title: "The gateway did not answer.", issues: [], advice }
  }
  if (error instanceof SealgateError) return { title: error.message, issues: [], advice: "Try again in a moment." }
  const detail = error instanceof Error ? error.message : String(error)
  return { title: "Something went wrong in this page.", detail, issues: [], advice: "Load the page again." }
}

/** Returns `known` if `next` differs only in its trace, so that the same text is not announced again. */
export const renewed = (known: Failure | undefined, next: Failure): Failure =>
  known !== undefined && withoutTrace(known) === withoutTrace(next) ? known : next

const withoutTrace = (failure: Failure): string => JSON.stringify({ ...failure, traceId: undefined })

/** Whether the gateway refused the token. */
export const isSignedOut = (error: unknown): boolean => error instanceof GatewayProblem && error.problem.status === 401
