/** Limits what one caller has in flight at once. */
import { Context, Data, Effect, Layer, type Scope } from "effect"
import type { Identity } from "../../domain/access/identity.ts"

/** The caller has reached its limit. Not an `Error`, for the same reason as `RateLimited`. */
export class TooManyInFlight extends Data.TaggedClass("TooManyInFlight")<{ readonly limit: number }> {}

export class ConcurrencyLimits extends Context.Service<
  ConcurrencyLimits,
  {
    /** Takes one of the `limit` places of `key` until the scope closes. A limit of 0 lets everything through. */
    readonly enter: (key: string, limit: number) => Effect.Effect<void, TooManyInFlight, Scope.Scope>
  }
>()("sealgate/services/access/ConcurrencyLimits") {
  static readonly layer = Layer.sync(ConcurrencyLimits, () => {
    // An entry exists only while something is in flight, so the table is bounded by the server's connections.
    const inFlight = new Map<string, number>()
    const leave = (key: string) => {
      const left = (inFlight.get(key) ?? 1) - 1
      if (left === 0) inFlight.delete(key)
      else inFlight.set(key, left)
    }
    return ConcurrencyLimits.of({
      enter: (key, limit) =>
        limit === 0
          ? Effect.void
          : Effect.acquireRelease(
              Effect.suspend(() => {
                const current = inFlight.get(key) ?? 0
                if (current >= limit) return Effect.fail(new TooManyInFlight({ limit }))
                inFlight.set(key, current + 1)
                return Effect.void
              }),
              () => {
                leave(key)
                return Effect.void
              },
            ),
    })
  })
}

/** Takes one of the places that the caller's key has for calls of models. */
export const enterOfKey = ({ enter }: ConcurrencyLimits["Service"], { key }: Identity) =>
  key?.maxCallsInFlight === undefined ? Effect.void : enter(`calls-of-key:${key.id}`, key.maxCallsInFlight)
