/** How many calls one provider serves at a time, so that a slow provider cannot take up the whole process. */
import { Effect, Schema, Scope, Semaphore } from "effect"
import type { UpstreamSettings } from "./UpstreamSettings.ts"

/** All places at a provider were taken, and none became free in time. */
export class BulkheadFull extends Schema.TaggedError<BulkheadFull>()("BulkheadFull", {}) {}

export interface Bulkhead {
  /** Runs a call once there is a place for it. Waiting can be interrupted; the place is given back whatever happens. */
  readonly enter: <A, E, R>(call: Effect.Effect<A, E, R>) => Effect.Effect<A, E | BulkheadFull, R>
  /** Applies other limits to calls that enter from now on. */
  readonly resize: (limits: UpstreamSettings["bulkhead"]) => Effect.Effect<void>
}

const full = Effect.fail(new BulkheadFull())

export const makeBulkhead = (initial: UpstreamSettings["bulkhead"]): Effect.Effect<Bulkhead> =>
  Effect.map(Semaphore.make(initial.calls), (places) => {
    let limits = initial
    let present = 0
    const arrive = Effect.suspend(() => {
      if (present >= limits.calls + limits.waiting) return full
      present++
      return Effect.void
    })
    const leave = Effect.sync(() => {
      present--
    })
    // When fewer calls are present than there are places, one is free, so no timer is needed.
    const place = Effect.suspend(() =>
      present <= limits.calls
        ? places.takeScoped(1)
        : Effect.timeoutOrElse(places.takeScoped(1), { duration: limits.maxWait, orElse: () => full }),
    )
    return {
      enter: (call) =>
        Effect.acquireUseRelease(
          arrive,
          () => Effect.scopedWith((scope) => Effect.andThen(Scope.provide(place, scope), call)),
          () => leave,
        ),
      resize: (next) =>
        Effect.suspend(() => {
          limits = next
          return places.resize(next.calls)
        }),
    }
  })
