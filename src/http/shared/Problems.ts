/**
 * One renderer for everything that goes wrong outside a handler's own answers: unknown routes, wrong methods, bodies
 * that are too large or do not decode, and defects all become problem documents that tell a caller what to do.
 */
import { Cause, Effect, Option } from "effect"
import { HttpServerError, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiError } from "effect/http-api"
import { describeCause } from "../../domain/defect.ts"
import type { NotIJson } from "../../domain/iJson.ts"
import { misfits } from "../../domain/misfits.ts"
import { makeProblem, type Problem, PROBLEM_CONTENT_TYPE, type ProblemIssue } from "../../domain/problem.ts"
import type { TooManyInFlight } from "../../services/access/ConcurrencyLimits.ts"
import type { RateLimited } from "../../services/access/RateLimits.ts"
import { isBodyOvertaken } from "./BodyMemory.ts"
import { isNotIJson } from "./JsonBody.ts"
import { pathOf, type RouteTable } from "./RouteTable.ts"
import { defined } from "../../domain/defined.ts"

export const problemResponse = (
  problem: Problem,
  headers: Readonly<Record<string, string>> = {},
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(problem, {
    status: problem.status,
    contentType: PROBLEM_CONTENT_TYPE,
    headers: { "cache-control": "no-store", ...headers },
  })

/** `Retry-After` in whole seconds (RFC 9110 §10.2.3), never less than one. */
export const retryAfter = (milliseconds: number): Readonly<Record<string, string>> => ({
  "retry-after": String(Math.max(1, Math.ceil(milliseconds / 1000))),
})

/** When something that should pass soon may have passed, in milliseconds. */
export const SOON_MS = 1000

/** The server is on its way down and begins nothing new. */
export const DRAINING = makeProblem({
  code: "draining",
  status: 503,
  title: "The server is shutting down.",
  detail: "Send the request to another instance, or here again in a moment.",
})

/** A caller had its share; `detail` says of what. */
export const limited = (error: RateLimited | TooManyInFlight, detail: string): Problem =>
  makeProblem({
    code: "rate-limited",
    status: 429,
    title: error._tag === "RateLimited" ? "Too many requests." : "Too many requests at once.",
    detail,
  })

/** When it may have more: nobody can know how long what is in flight takes, so soon. */
export const limitedHeaders = (error: RateLimited | TooManyInFlight): Readonly<Record<string, string>> =>
  retryAfter(error._tag === "RateLimited" ? error.retryAfterMs : SOON_MS)

/** A problem document with the headers that tell a caller what to do next. */
export interface Rendered {
  readonly problem: Problem
  readonly headers?: Readonly<Record<string, string>>
}

/** A client had its share of one kind of requests. */
export const tooMany = (error: RateLimited | TooManyInFlight): Rendered => ({
  problem: limited(
    error,
    error._tag === "RateLimited"
      ? `At most ${error.limit} of this kind per minute are accepted from one client.`
      : `At most ${error.limit} of this kind may be in flight from one client.`,
  ),
  headers: limitedHeaders(error),
})

const issuesOf = (error: HttpApiError.HttpApiSchemaError): ReadonlyArray<ProblemIssue> =>
  misfits(error.cause.issue, [error.kind.toLowerCase()])

/** The first error or defect of a cause that is what `is` accepts. */
const firstIn = <A>(cause: Cause.Cause<unknown>, is: (error: unknown) => error is A): A | undefined => {
  for (const reason of cause.reasons) {
    const error = Cause.isDieReason(reason) ? reason.defect : Cause.isFailReason(reason) ? reason.error : undefined
    if (is(error)) return error
  }
  return undefined
}

const isSchemaError = (error: unknown): error is HttpApiError.HttpApiSchemaError =>
  HttpApiError.HttpApiSchemaError.is(error)

export interface RenderOptions {
  readonly routes: Pick<RouteTable, "methods">
  readonly maxBodyBytes: number
  /** The code of a request that does not decode. */
  readonly malformedCode: string
  /** Whether problems name their request, see {@link requestMembers}. */
  readonly namesRequest: boolean
}

/** What ties a problem to its request: the path that was asked for, and the trace. */
export const requestMembers = (
  request: HttpServerRequest.HttpServerRequest,
): Effect.Effect<Pick<Problem, "instance" | "trace_id">> =>
  Effect.map(Effect.option(Effect.currentSpan), (span) => ({
    instance: pathOf(request.url),
    ...(Option.isNone(span) ? {} : { trace_id: span.value.traceId }),
  }))

const problemFor = (
  status: number,
  request: HttpServerRequest.HttpServerRequest,
  options: RenderOptions,
  issues?: ReadonlyArray<ProblemIssue>,
): Rendered => {
  switch (status) {
    case 404: {
      const methods = options.routes.methods(request.url)
      if (methods.length === 0) {
        const detail = "See /openapi.json."
        return { problem: makeProblem({ code: "not-found", status, title: "There is nothing here.", detail }) }
      }
      const allow = methods.join(", ")
      return {
        problem: makeProblem({
          code: "method-not-allowed",
          status: 405,
          title: "This path does not take that method.",
          detail: `Use ${allow}.`,
        }),
        headers: { allow },
      }
    }
    case 413:
      return {
        problem: makeProblem({
          code: "too-large",
          status,
          title: "The request body is too large.",
          detail: `At most ${options.maxBodyBytes} bytes are accepted.`,
        }),
        headers: { connection: "close" },
      }
    case 415:
      return {
        problem: makeProblem({
          code: "unsupported-media-type",
          status,
          title: "The request body has the wrong content type.",
          detail: "Send application/json.",
        }),
      }
    case 408:
      return {
        problem: makeProblem({ code: "timeout", status, title: "The request took too long to arrive." }),
        headers: { connection: "close" },
      }
    case 503:
      return { problem: DRAINING, headers: retryAfter(SOON_MS) }
    default:
      return {
        problem:
          status >= 400 && status < 500
            ? makeProblem({
                code: options.malformedCode,
                status: 400,
                title: "The request does not have the expected shape.",
                ...defined({ errors: issues }),
              })
            : makeProblem({
                code: "internal",
                status: 500,
                title: "Something went wrong here.",
                detail: "It is not your request's fault. The operator finds the details in the server's log.",
                retryable: false,
              }),
      }
  }
}

const notIJson = ({ message: detail }: NotIJson, options: RenderOptions): Rendered => ({
  problem: makeProblem({
    code: options.malformedCode,
    status: 400,
    title: "The request body is not JSON as it is taken here.",
    detail,
  }),
})

const isEmpty = (response: HttpServerResponse.HttpServerResponse): boolean =>
  response.body._tag === "Empty" || response.headers["content-type"]?.startsWith("text/plain") === true

/** Answers a request with a problem, which names the request where problems do. */
export const makeRespond =
  ({ namesRequest }: Pick<RenderOptions, "namesRequest">) =>
  (request: HttpServerRequest.HttpServerRequest, { headers, problem }: Rendered) =>
    namesRequest
      ? Effect.map(requestMembers(request), (members) => problemResponse({ ...problem, ...members }, headers))
      : Effect.succeed(problemResponse(problem, headers))

/** Renders what `app` fails or dies with, and the framework's own bodyless errors, as problem documents. */
export const renderProblems = (options: RenderOptions) => {
  const respond = makeRespond(options)
  return <E, R>(
    request: HttpServerRequest.HttpServerRequest,
    app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  ): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R> =>
    Effect.matchCauseEffect(app, {
      onSuccess: (response) =>
        response.status >= 400 && isEmpty(response)
          ? respond(request, problemFor(response.status, request, options))
          : Effect.succeed(response),
      onFailure: (cause) => {
        // A caller that went away gets no answer; the server's own handling of the interruption ends the request.
        if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
        if (firstIn(cause, isBodyOvertaken) !== undefined) return respond(request, problemFor(408, request, options))
        const fault = firstIn(cause, isNotIJson)
        if (fault !== undefined) return respond(request, notIJson(fault, options))
        const malformed = firstIn(cause, isSchemaError)
        return Effect.flatMap(HttpServerError.causeResponse(cause), ([response]) => {
          const issues = malformed === undefined ? undefined : issuesOf(malformed)
          const rendered = problemFor(response.status, request, options, issues)
          const answer = respond(request, rendered)
          return rendered.problem.status === 500
            ? Effect.andThen(Effect.logError("request failed", describeCause(cause)), answer)
            : answer
        })
      },
    })
}
