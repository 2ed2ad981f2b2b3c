/** Limits the concurrent calls of one provider, so that a slow provider cannot take up the whole process. */
import { Duration, Effect, Schema, Semaphore } from "effect"
import { thisMoment } from "../moments.ts"
import { OutOfTime } from "./Deadline.ts"
import type { UpstreamSettings } from "./UpstreamSettings.ts"

/** All places at a provider are taken, and none became free in time. */
export class BulkheadFull extends Schema.TaggedError<BulkheadFull>()("BulkheadFull", {}) {}

export interface Bulkhead {
  /** Runs a call once it has a place, if before the moment `deadline`. Waiting can be interrupted. */
  readonly enter: <A, E, R>(
    call: Effect.Effect<A, E, R>,
    deadline: number,
  ) => Effect.Effect<A, E | BulkheadFull | OutOfTime, R>
  /** Changes the limits for calls that enter from now on. */
  readonly resize: (limits: UpstreamSettings["bulkhead"]) => Effect.Effect<void>
}

const full = Effect.fail(new BulkheadFull())

export const makeBulkhead = (initial: UpstreamSettings["bulkhead"]): Effect.Effect<Bulkhead> =>
  Effect.map(Semaphore.make(initial.calls), (places) => {
    let limits = initial
    let present = 0

    const leave = Effect.suspend(() => {
      present--
      return places.release(1)
    })
    const patiently = (deadline: number) =>
      Effect.flatMap(thisMoment, (now) => {
        const maxWait = Duration.toMillis(limits.maxWait)
        const rest = deadline - now
        return Effect.timeoutOrElse(places.take(1), {
          duration: Math.min(maxWait, rest),
          orElse: (): Effect.Effect<never, BulkheadFull | OutOfTime> => (rest < maxWait ? new OutOfTime() : full),
        })
      })

    return {
      enter: <A, E, R>(call: Effect.Effect<A, E, R>, deadline: number) =>
        Effect.uninterruptibleMask((restore): Effect.Effect<A, E | BulkheadFull | OutOfTime, R> => {
          if (present >= limits.calls + limits.waiting) return full
          present++
          const inside = Effect.onExit(restore(call), () => leave)
          // With at most as many calls as places, a place is free, so no timer is needed.
          if (present <= limits.calls) return Effect.flatMap(places.take(1), () => inside)
          return Effect.matchCauseEffect(restore(patiently(deadline)), {
            onSuccess: () => inside,
            onFailure: (cause) => {
              present--
              return Effect.failCause(cause)
            },
          })
        }),
      resize: (next) =>
        Effect.suspend(() => {
          limits = next
          return places.resize(next.calls)
        }),
    }
  })
