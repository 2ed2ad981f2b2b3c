/** Errors in the form of the vendor whose API was called, so that its SDKs throw their own classes. */
import { Clock, Data, Effect, Random } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { Draining } from "../../../api/problems.ts"
import { type ErrorAnswer, problemAnswer } from "../../../client/sdk/errorAnswer.ts"
import { vendorAsked } from "../../../client/sdk/vendors/endpoints.ts"
import { errorReply, type Vendor } from "../../../client/sdk/vendors/Vendor.ts"
import { withoutUndefined } from "../../../domain/json/withoutUndefined.ts"
import { makeProblem, type Problem } from "../../../domain/problems/problem.ts"
import { isRefusal, type Refusal } from "../../../domain/problems/refusal.ts"
import type { Aborted } from "../../../services/lifecycle/Drain.ts"
import type { RouterError } from "../../../services/routing/RoutingErrors.ts"
import { traced } from "../../../services/sealing/EndRecord.ts"
import { problemOf } from "../../../services/sealing/sealedProblem.ts"
import type { ErrorForm } from "../../shared/renderProblems.ts"
import { pathOf } from "../../shared/RouteTable.ts"

type Request = HttpServerRequest.HttpServerRequest

export const vendorOf = ({ headers, url }: Request): Vendor =>
  vendorAsked(pathOf(url), { has: (name) => name in headers })

const respond: ErrorForm = (request, problem, headers) => {
  const answer: ErrorAnswer = { ...problemAnswer(problem, problem.retry_after_ms), headers }
  const { body, ...options } = errorReply(vendorOf(request), answer, problem.trace_id)
  return HttpServerResponse.jsonUnsafe(body, options)
}

export const vendorForm = (path: string): ErrorForm | undefined => (path.startsWith("/v1/") ? respond : undefined)

export class JobFailed extends Data.TaggedError("JobFailed")<{ readonly problem: Problem }> {}

type ServingFailure = RouterError | Aborted | JobFailed

export type CallError = ServingFailure | Refusal

/** Whether no target of the model serves the API. */
export const isUnserved = (error: CallError): boolean =>
  !isRefusal(error) &&
  ((error._tag === "NoTarget" && error.reason === "api") ||
    (error._tag === "CallFailed" && error.error.code === "unsupported-api"))

const problemIn = (error: ServingFailure, now: number, random: number): Problem => {
  switch (error._tag) {
    case "NoTarget": {
      const { code, message, retryable, status } = error
      return makeProblem({ code, status, retryable, title: message })
    }
    case "BudgetExhausted": {
      const { code, message, retryable, status } = error
      const retry_after_ms = error.retryAfterMs(now, random)
      return makeProblem({ code, status, retryable, title: message, ...withoutUndefined({ retry_after_ms }) })
    }
    case "CallFailed":
      return problemOf(error.error)
    case "Aborted":
      return new Draining().problem
    case "JobFailed":
    case "StorageUnavailable":
      return error.problem
  }
}

export const callProblem = (error: CallError): Effect.Effect<Problem> =>
  Effect.flatMap(Effect.all([Clock.currentTimeMillis, Random.next]), ([now, random]) =>
    traced(isRefusal(error) ? error.problem : problemIn(error, now, random)),
  )

export const refuse = (request: Request, error: CallError): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
  Effect.map(callProblem(error), (problem) => respond(request, problem, isRefusal(error) ? (error.headers ?? {}) : {}))
