/** Limits of one client, by kind of request. Refused requests count too, because they cost something as well. */
import { Context, Effect, type Scope } from "effect"
import type { HttpServerRequest } from "effect/http"
import { TooManyRequests } from "../../api/problems.ts"
import { ConcurrencyLimits, type TooManyInFlight } from "../../services/access/ConcurrencyLimits.ts"
import { type RateLimited, rateKey, RateLimits } from "../../services/access/RateLimits.ts"
import { clientIdentity } from "./ClientIdentity.ts"
import { retryAfter } from "./renderProblems.ts"
import { PolicyStates } from "./rateLimitFields.ts"
import type { MatchedRoute } from "./RouteTable.ts"

/** Requests that count together, with the limits of one client. 0 is no limit. */
export interface RequestKind {
  readonly name: string
  readonly perMinute: number
  /** Limit of requests whose response is not yet written. */
  readonly inFlight?: number
  /** Whether each process counts by itself, because orchestrators probe every process. */
  readonly ofProcess?: boolean
}

/** The kind of a request; `route` is undefined if the answer is 404 or 405. */
export type KindOf = (method: string, route: MatchedRoute | undefined) => RequestKind

/** The policies that the current request counted against, reported in its response. */
export const CountedPolicies = Context.Reference<PolicyStates>("sealgate/http/shared/ClientLimits/CountedPolicies", {
  defaultValue: () => new PolicyStates(),
})

/** Takes one of the `limit` requests per minute of `whose` under `policy`, and records how many remain. */
export const makeTake = Effect.map(
  RateLimits,
  (rates) =>
    (policy: string, whose: string, limit: number, ofProcess = false): Effect.Effect<void, RateLimited> =>
      Effect.flatMap(CountedPolicies, (states) => {
        const take = ofProcess ? rates.takeHere : rates.take
        return Effect.mapBoth(take(rateKey(policy, whose), limit), {
          onSuccess: (allowance) => states.add(policy, allowance),
          onFailure: (error) => {
            states.add(policy, error)
            return error
          },
        })
      }),
)

/** `detail` names the limit. One of requests in flight may free up at any time, so its `Retry-After` is short. */
export const tooMany = (error: RateLimited | TooManyInFlight, detail: string): TooManyRequests =>
  new TooManyRequests({ detail, headers: retryAfter(error._tag === "RateLimited" ? error.retryAfterMs : 0) })

/** Counts a request for its client. It counts as in flight until the scope closes. */
export const makeCountRequest = Effect.gen(function* () {
  const take = yield* makeTake
  const concurrency = yield* ConcurrencyLimits
  return (
    request: HttpServerRequest.HttpServerRequest,
    { inFlight = 0, name, ofProcess, perMinute }: RequestKind,
  ): Effect.Effect<void, TooManyRequests, Scope.Scope> => {
    const { by, whose } = clientIdentity(request)
    const policy = `${name}-per-${by}`
    return Effect.mapError(
      Effect.andThen(take(policy, whose, perMinute, ofProcess), concurrency.enter(`${policy}:${whose}`, inFlight)),
      (error) => {
        const limited = error._tag === "RateLimited" ? "per minute are accepted" : "may be in flight"
        return tooMany(error, `At most ${error.limit} of this kind ${limited} from one client.`)
      },
    )
  }
})
