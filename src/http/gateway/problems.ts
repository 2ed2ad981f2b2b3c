/** How refusals look on the wire: one problem document each, with the headers that tell a caller what to do next. */
import { Effect, Schema } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import type { AgentNotFound, AgentStale } from "../../domain/agent.ts"
import { agentETag } from "../../domain/agent.ts"
import type { AccessDenied, TokenKeysUnavailable, TokenRefused } from "../../domain/identity.ts"
import type { IdempotencyInFlight, IdempotencyMismatch, JobNotFound } from "../../domain/job.ts"
import { MALFORMED } from "../../api/gateway/problemCodes.ts"
import { makeProblem, type Problem, ProblemIssue } from "../../domain/problem.ts"
import { routingETag, type RoutingSettingsInvalid, type RoutingSettingsStale } from "../../domain/routingChecks.ts"
import type { CursorInvalid, StorageUnavailable } from "../../domain/storage.ts"
import type { TooManyInFlight } from "../../services/access/ConcurrencyLimits.ts"
import type { RateLimited } from "../../services/access/RateLimits.ts"
import {
  DRAINING,
  limited,
  limitedHeaders,
  problemResponse,
  requestMembers,
  retryAfter,
  SOON_MS,
} from "../shared/Problems.ts"

/** The server is on its way down and begins nothing new. */
export class Draining extends Schema.TaggedError<Draining>()("Draining", {}) {}

/** Members that are right one by one and do not go together. */
export class RequestInvalid extends Schema.TaggedError<RequestInvalid>()("RequestInvalid", {
  errors: Schema.Array(ProblemIssue),
}) {
  readonly code = MALFORMED
  readonly status = 400
  readonly retryable = false
  override get message(): string {
    return "The request does not have the expected shape."
  }
}

/** Everything that the gateway refuses a request for. */
export type Refusal =
  | AccessDenied
  | AgentNotFound
  | AgentStale
  | CursorInvalid
  | Draining
  | IdempotencyInFlight
  | IdempotencyMismatch
  | JobNotFound
  | RateLimited
  | RequestInvalid
  | RoutingSettingsInvalid
  | RoutingSettingsStale
  | StorageUnavailable
  | TokenKeysUnavailable
  | TokenRefused
  | TooManyInFlight

export const problemOf = (error: Refusal): Problem => {
  switch (error._tag) {
    case "Draining":
      return DRAINING
    case "RateLimited":
      return limited(error, `At most ${error.limit} of this kind per minute are accepted from one tenant.`)
    case "TooManyInFlight":
      return limited(error, `At most ${error.limit} long polls and event streams of one tenant may be open.`)
    default: {
      const { code, message, retryable, status } = error
      return makeProblem({
        code,
        status,
        title: message,
        retryable,
        ...("errors" in error ? { errors: error.errors } : {}),
      })
    }
  }
}

const headersOf = (error: Refusal): Readonly<Record<string, string>> => {
  switch (error._tag) {
    case "TokenRefused":
      // RFC 6750 §3: without a token there is no error to speak of yet.
      return { "www-authenticate": `Bearer realm="sealgate"${error.presented ? ', error="invalid_token"' : ""}` }
    case "AccessDenied":
      return { "www-authenticate": 'Bearer realm="sealgate", error="insufficient_scope"' }
    case "AgentStale":
      return { etag: agentETag(error) }
    case "RoutingSettingsStale":
      return { etag: routingETag(error) }
    case "RateLimited":
    case "TooManyInFlight":
      return limitedHeaders(error)
    case "Draining":
      return retryAfter(SOON_MS)
    default:
      return error.retryable ? retryAfter(SOON_MS) : {}
  }
}

/** The answer to a request that is refused. */
export const refuse = (
  error: Refusal,
): Effect.Effect<HttpServerResponse.HttpServerResponse, never, HttpServerRequest.HttpServerRequest> =>
  HttpServerRequest.HttpServerRequest.pipe(
    Effect.flatMap(requestMembers),
    Effect.map((members) => problemResponse({ ...problemOf(error), ...members }, headersOf(error))),
  )

/** What a handler has to say: its answer, or why there is none. */
export const answered = <A, R>(effect: Effect.Effect<A, Refusal, R>) => Effect.catch(effect, refuse)
