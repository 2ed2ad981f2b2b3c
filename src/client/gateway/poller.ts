/**
 * How the gateway's client polls for what takes time. A request that was cut off, refused for now or not answered is
 * repeated, because it says nothing about what is waited for.
 */
import { Clock, Duration, Effect, Random } from "effect"
import { Unreachable } from "../errors.ts"
import { GatewayProblem } from "./GatewayProblem.ts"
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

const isTemporary = (error: unknown): error is GatewayProblem | Unreachable =>
  error instanceof Unreachable || (error instanceof GatewayProblem && error.problem.retryable)

/** Makes what polls the gateway for one thing. */
export const makePoller = Effect.gen(function* () {
  let interval = LEAST_INTERVAL
  let askedAt = 0
  let reachedAt = yield* Clock.currentTimeMillis

  const noteReached = Effect.map(Clock.currentTimeMillis, (now) => {
    reachedAt = now
  })

  /** Waits out the interval since the last request; one that took longer than that leaves nothing to wait for. */
  const pauseAtLeast = Effect.fnUntraced(function* (atLeast: number) {
    const begin = askedAt + interval * (1 + JITTER * (yield* Random.next))
    const left = Math.max(begin - (yield* Clock.currentTimeMillis), atLeast)
    interval = left > 0 ? Math.min(2 * interval, MOST_INTERVAL) : LEAST_INTERVAL
    yield* Effect.sleep(Math.max(left, 0))
  })

  const pauseUnlessFinal = Effect.fnUntraced(function* <E>(error: E) {
    if (!isTemporary(error)) return yield* Effect.fail(error)
    const refusal = error instanceof GatewayProblem ? error : undefined
    if (refusal?.problem.status === RATE_LIMITED) yield* noteReached
    if ((yield* Clock.currentTimeMillis) - reachedAt >= GIVE_UP_AFTER) return yield* Effect.fail(error)
    yield* pauseAtLeast(refusal?.retryAfterMs ?? 0)
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
        Effect.tap(noteReached),
        Effect.catch(pauseUnlessFinal),
      )
    }),
    /** Notes that the gateway could be reached until now. */
    noteReached,
    /** Waits until the next request may begin. */
    pause: Effect.suspend(() => pauseAtLeast(0)),
  }
})
