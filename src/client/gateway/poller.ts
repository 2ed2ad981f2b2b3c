/** Polls the gateway. Repeats requests that were cut off, refused for now or not answered. */
import { Clock, Duration, Effect, Random } from "effect"
import { Unreachable } from "../errors.ts"
import { GatewayProblem } from "./GatewayProblem.ts"
import { withErrors } from "./gatewayCalls.ts"

/** Least time between the starts of two requests, in milliseconds; doubles after each pause. */
const LEAST_INTERVAL = 1000
const MOST_INTERVAL = 16_000
/** Random part of a pause, so that clients refused together do not retry together. */
const JITTER = 0.5
/** Time for an answer, in addition to the requested wait. */
const ANSWER_WITHIN = Duration.seconds(15)
/** Time without a gateway before giving up, in milliseconds; longer than a restart takes. */
const GIVE_UP_AFTER = 120_000

const RATE_LIMITED = 429

const isTemporary = (error: unknown): error is GatewayProblem | Unreachable =>
  error instanceof Unreachable || (error instanceof GatewayProblem && error.problem.retryable)

/** Milliseconds of the monotonic clock: setting the time of day must neither delay a request nor end the polling. */
const thisMoment = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos) / 1e6)

/** Makes a poller for one resource. */
export const makePoller = Effect.gen(function* () {
  let interval = LEAST_INTERVAL
  let reachedAt = yield* thisMoment
  let askedAt = reachedAt

  const noteReached = Effect.map(thisMoment, (now) => {
    reachedAt = now
  })

  /** Waits until the interval since the start of the last request has passed. */
  const pauseAtLeast = Effect.fnUntraced(function* (atLeast: number) {
    const begin = askedAt + interval * (1 + JITTER * (yield* Random.next))
    const left = Math.max(begin - (yield* thisMoment), atLeast)
    interval = left > 0 ? Math.min(2 * interval, MOST_INTERVAL) : LEAST_INTERVAL
    yield* Effect.sleep(Math.max(left, 0))
  })

  const pauseUnlessFinal = Effect.fnUntraced(function* <E>(error: E) {
    if (!isTemporary(error)) return yield* Effect.fail(error)
    const refusal = error instanceof GatewayProblem ? error : undefined
    if (refusal?.problem.status === RATE_LIMITED) yield* noteReached
    if ((yield* thisMoment) - reachedAt >= GIVE_UP_AFTER) return yield* Effect.fail(error)
    yield* pauseAtLeast(refusal?.retryAfterMs ?? 0)
    return undefined
  })

  return {
    /**
     * Returns the gateway's answer, or `undefined` after a pause if a retry may help. Fails if it cannot help, or once the
     * gateway has been away for two minutes. `wait` is the wait that the request asks for.
     */
    ask: Effect.fnUntraced(function* <A, E>(request: Effect.Effect<A, E>, wait: Duration.Duration = Duration.zero) {
      askedAt = yield* thisMoment
      return yield* withErrors(request).pipe(
        Effect.timeoutOrElse({
          duration: Duration.sum(wait, ANSWER_WITHIN),
          orElse: () => Effect.fail(new Unreachable("The gateway took too long to answer.")),
        }),
        Effect.tap(noteReached),
        Effect.catch(pauseUnlessFinal),
      )
    }),
    /** Records that the gateway can be reached. */
    noteReached,
    /** Waits until the next request may begin. */
    pause: Effect.suspend(() => pauseAtLeast(0)),
  }
})
