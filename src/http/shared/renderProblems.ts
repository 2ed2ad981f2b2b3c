/** Renders all failures as problem documents, also those of the framework and defects. */
import { Cause, Context, Effect, Layer, Tracer } from "effect"
import { HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiError } from "effect/http-api"
import {
  Draining,
  Internal,
  MethodNotAllowed,
  NotFound,
  Refusals,
  TimedOut,
  TooLarge,
  UnsupportedMediaType,
} from "../../api/problems.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import { logFault } from "../../services/logFault.ts"
import { schemaIssues } from "../../domain/json/schemaIssues.ts"
import { type Problem, PROBLEM_CONTENT_TYPE } from "../../domain/problems/problem.ts"
import { isRefusal, type Refusal } from "../../domain/problems/refusal.ts"
import { requestTraceId } from "../../domain/operations/traceContext.ts"
import { isBodyOvertaken } from "./BodyMemory.ts"
import { isNotIJson } from "./JsonBody.ts"
import { pathOf, type RouteTable } from "./RouteTable.ts"

/** `Retry-After` in whole seconds (RFC 9110 §10.2.3), never less than one. */
export const retryAfter = (milliseconds: number): Readonly<Record<string, string>> => ({
  "retry-after": String(Math.max(1, Math.ceil(milliseconds / 1000))),
})

/** Whether problems contain the path and the trace of their request. */
export const NamesRequest = Context.Reference<boolean>("sealgate/http/shared/renderProblems/NamesRequest", {
  defaultValue: () => false,
})

/** Renders a problem, with the headers of its refusal, in another form than a problem document. */
export type ErrorForm = (
  request: HttpServerRequest.HttpServerRequest,
  problem: Problem,
  headers: Readonly<Record<string, string>>,
) => HttpServerResponse.HttpServerResponse

const problemDocument: ErrorForm = (_, problem, headers) =>
  HttpServerResponse.jsonUnsafe(problem, {
    status: problem.status,
    contentType: PROBLEM_CONTENT_TYPE,
    headers: { "cache-control": "no-store", ...headers },
  })

export const CurrentErrorForm = Context.Reference<ErrorForm>("sealgate/http/shared/renderProblems/CurrentErrorForm", {
  defaultValue: () => problemDocument,
})

const requestMembers = (request: HttpServerRequest.HttpServerRequest, context: Context.Context<never>) => {
  if (!Context.get(context, NamesRequest)) return {}
  const trace_id = requestTraceId(Context.getOrUndefined(context, Tracer.ParentSpan))
  return { instance: pathOf(request.url), ...withoutUndefined({ trace_id }) }
}

export const respond = (
  request: HttpServerRequest.HttpServerRequest,
  refusal: Refusal,
  further: object = {},
): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
  Effect.withFiber(({ context }) => {
    const problem: Problem = { ...refusal.problem, ...further, ...requestMembers(request, context) }
    return Effect.succeed(Context.get(context, CurrentErrorForm)(request, problem, refusal.headers ?? {}))
  })

export const layerRefusals = Layer.succeed(Refusals, (app) =>
  Effect.catch(app, (error: unknown) =>
    isRefusal(error)
      ? Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => respond(request, error))
      : Effect.die(error),
  ),
)

/** The mistakes in a request. */
type Why = Pick<Problem, "detail" | "errors">

export interface RenderOptions {
  readonly routes: Pick<RouteTable, "methods">
  readonly maxBodyBytes: (request: HttpServerRequest.HttpServerRequest) => number
  /** Detail of 404, such as where the paths are listed. */
  readonly seeInstead: string
  /** Replaces 404 for some paths, with additional members of the problem. */
  readonly insteadOf?: (path: string) => { readonly refusal: Refusal; readonly members: object } | undefined
  /** The refusal of a request that does not decode. */
  readonly malformed: (why: Why) => Refusal
}

const firstIn = <A>(cause: Cause.Cause<unknown>, is: (error: unknown) => error is A): A | undefined => {
  for (const reason of cause.reasons) {
    const error = Cause.isDieReason(reason) ? reason.defect : Cause.isFailReason(reason) ? reason.error : undefined
    if (is(error)) return error
  }
  return undefined
}

const isSchemaError = (error: unknown): error is HttpApiError.HttpApiSchemaError =>
  HttpApiError.HttpApiSchemaError.is(error)

/** The refusal for a request that the framework answers with a bare status. */
const refusalOf = (
  status: number,
  request: HttpServerRequest.HttpServerRequest,
  { malformed, maxBodyBytes, routes, seeInstead }: RenderOptions,
  why: Why = {},
): Refusal => {
  switch (status) {
    case 404: {
      const methods = routes.methods(request.url)
      if (methods.length === 0) return new NotFound({ detail: seeInstead })
      const allow = methods.join(", ")
      return new MethodNotAllowed({ detail: `Use ${allow}.`, headers: { allow } })
    }
    case 408:
      return new TimedOut()
    case 413:
      return new TooLarge({ detail: `At most ${maxBodyBytes(request)} bytes are accepted.` })
    case 415:
      return new UnsupportedMediaType()
    case 503:
      return new Draining()
    default:
      return status >= 400 && status < 500 ? malformed(why) : new Internal()
  }
}

const isEmpty = (response: HttpServerResponse.HttpServerResponse): boolean =>
  response.body._tag === "Empty" || response.headers["content-type"]?.startsWith("text/plain") === true

/** Answers with `refusal`, or with `insteadOf` if the path does not exist. */
const refuse = (request: HttpServerRequest.HttpServerRequest, refusal: Refusal, options: RenderOptions) => {
  const other = refusal instanceof NotFound ? options.insteadOf?.(pathOf(request.url)) : undefined
  return other === undefined ? respond(request, refusal) : respond(request, other.refusal, other.members)
}

/** Renders the failures of `app`, and the framework's own errors without a body, as problem documents. */
export const renderProblems =
  (options: RenderOptions) =>
  <E, R>(
    request: HttpServerRequest.HttpServerRequest,
    app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  ): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R> =>
    Effect.matchCauseEffect(app, {
      onSuccess: (response) =>
        response.status >= 400 && isEmpty(response)
          ? refuse(request, refusalOf(response.status, request, options), options)
          : Effect.succeed(response),
      onFailure: (cause) => {
        // The caller went away; the server ends the interrupted request.
        if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
        if (firstIn(cause, isBodyOvertaken) !== undefined) return respond(request, new TimedOut())
        const fault = firstIn(cause, isNotIJson)
        if (fault !== undefined) return respond(request, options.malformed({ detail: fault.message }))
        const misfit = firstIn(cause, isSchemaError)
        const errors = misfit === undefined ? undefined : schemaIssues(misfit.cause.issue, [misfit.kind.toLowerCase()])
        return Effect.flatMap(HttpServerError.causeResponse(cause), ([response]) => {
          const rendered = refusalOf(response.status, request, options, withoutUndefined({ errors }))
          const answer = refuse(request, rendered, options)
          return rendered.status === 500 ? Effect.andThen(logFault("request failed", cause), answer) : answer
        })
      },
    })
