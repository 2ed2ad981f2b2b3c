/**
 * How the gateway's client goes on asking for what takes its time: an answer that is cut, refused or missing says nothing
 * of what is waited for.
 */
import { Clock, Duration, Effect, Random } from "effect"
import { GatewayProblem, Unreachable } from "./errors.ts"
import { withErrors } from "./gatewayCalls.ts"

/** Requests begin at least this far apart, and twice as far after each pause that this takes. In milliseconds. */
const LEAST_INTERVAL = 1000
const MOST_INTERVAL = 16_000
/** By which part pauses differ, so that those who were refused together do not come back together. */
const JITTER = 0.5
/** How long the gateway may take for an answer, beside what it was asked to wait. */
const ANSWER_WITHIN = Duration.seconds(15)
/** How long the gateway may be away: longer than it takes to start one again. In milliseconds. */
const GIVE_UP_AFTER = 120_000

const RATE_LIMITED = 429

const mayPass = (error: unknown): error is GatewayProblem | Unreachable =>
  error instanceof Unreachable || (error instanceof GatewayProblem && error.problem.retryable)

/** A conversation with the gateway about one thing. */
export const makePatience = Effect.gen(function* () {
  let interval = LEAST_INTERVAL
  let askedAt = 0
  let heardAt = yield* Clock.currentTimeMillis

  const hear = Effect.map(Clock.currentTimeMillis, (now) => {
    heardAt = now
  })

  /** A request that took its time leaves nothing to wait for. */
  const rest = Effect.fnUntraced(function* (atLeast: number) {
    const begin = askedAt + interval * (1 + JITTER * (yield* Random.next))
    const left = Math.max(begin - (yield* Clock.currentTimeMillis), atLeast)
    interval = left > 0 ? Math.min(2 * interval, MOST_INTERVAL) : LEAST_INTERVAL
    yield* Effect.sleep(Math.max(left, 0))
  })

  const bear = Effect.fnUntraced(function* <E>(error: E) {
    if (!mayPass(error)) return yield* Effect.fail(error)
    const refusal = error instanceof GatewayProblem ? error : undefined
    if (refusal?.problem.status === RATE_LIMITED) yield* hear
    if ((yield* Clock.currentTimeMillis) - heardAt >= GIVE_UP_AFTER) return yield* Effect.fail(error)
    yield* rest(refusal?.retryAfterMs ?? 0)
    return undefined
  })

  return {
    /**
     * What the gateway answers, or `undefined`, after a pause, if it may answer the next time. Fails when it never will,
     * and when it has been away for two minutes. `wait` is how long it was asked to wait before it answers.
     */
    ask: Effect.fnUntraced(function* <A, E>(request: Effect.Effect<A, E>, wait: Duration.Duration = Duration.zero) {
      askedAt = yield* Clock.currentTimeMillis
      return yield* withErrors(request).pipe(
        Effect.timeoutOrElse({
          duration: Duration.sum(wait, ANSWER_WITHIN),
          orElse: () => Effect.fail(new Unreachable("The gateway took too long to answer.")),
        }),
        Effect.tap(hear),
        Effect.catch(bear),
      )
    }),
    /** Notes that the gateway was listened to until now. */
    hear,
    /** Waits until the next question may come. */
    pause: Effect.suspend(() => rest(0)),
  }
})
