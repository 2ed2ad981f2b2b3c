/**
 * Limits on the requests of one client, by kind of request. A request is counted by its head alone, before its body is
 * read and whatever becomes of it, because refused requests cost something as well.
 */
import { Context, Effect, type Scope } from "effect"
import type { HttpServerRequest } from "effect/http"
import { TooManyRequests } from "../../api/problems.ts"
import { ConcurrencyLimits, type TooManyInFlight } from "../../services/access/ConcurrencyLimits.ts"
import { type RateLimited, RateLimits } from "../../services/access/RateLimits.ts"
import { clientIdentity } from "./ClientIdentity.ts"
import { retryAfter } from "./renderProblems.ts"
import { type PolicyState, stateOf } from "./rateLimitFields.ts"
import type { Route } from "./RouteTable.ts"

/** Requests that are counted together, and how many of them one client has. 0 is no limit. */
export interface RequestKind {
  readonly name: string
  readonly perMinute: number
  /** Until the answer is written out. */
  readonly inFlight: number
  /** Whether orchestrators ask every process by itself, so that each process has to count by itself too. */
  readonly ofProcess: boolean
}

/** The kind of a request. There is no `route` for requests that are answered with 404 or 405. */
export type KindOf = (method: string, route: Route | undefined) => RequestKind

/** The policies that the current request counted against. Its response says what is left of them. */
export const CountedPolicies = Context.Reference<Array<PolicyState>>(
  "sealgate/http/shared/ClientLimits/CountedPolicies",
  {
    defaultValue: () => [],
  },
)

/** Takes one of the `limit` requests per minute that `whose` has by `policy`, and notes what is left. */
export const makeTake = Effect.map(
  RateLimits,
  (rates) =>
    (policy: string, whose: string, limit: number, ofProcess = false): Effect.Effect<void, RateLimited> =>
      Effect.flatMap(CountedPolicies, (states) => {
        const take = ofProcess ? rates.takeHere : rates.take
        return Effect.mapBoth(take(`${policy}:${whose}`, limit), {
          onSuccess: (allowance) => void states.push(stateOf(policy, allowance)),
          onFailure: (error) => {
            states.push(stateOf(policy, error))
            return error
          },
        })
      }),
)

/**
 * A client has used up a limit, which `detail` names. A request in flight may end at any time, so the client is told to
 * try again soon.
 */
export const tooMany = (error: RateLimited | TooManyInFlight, detail: string): TooManyRequests =>
  new TooManyRequests({ detail, headers: retryAfter(error._tag === "RateLimited" ? error.retryAfterMs : 0) })

/** Counts a request for the client that sent it. Its place in flight is its own until the scope closes. */
export const makeCountRequest = Effect.gen(function* () {
  const take = yield* makeTake
  const concurrency = yield* ConcurrencyLimits
  return (
    request: HttpServerRequest.HttpServerRequest,
    { inFlight, name, ofProcess, perMinute }: RequestKind,
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
