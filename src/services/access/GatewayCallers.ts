/**
 * Callers of a gateway's sealed proxy: holders of its keys and tokens with the role `run`. Their limits are those of
 * unsealed calls.
 */
import { Effect, Layer, Redacted } from "effect"
import { AccessDenied } from "../../domain/access/identity.ts"
import { hasRole } from "../../domain/access/roles.ts"
import { Callers, makeIdentify } from "./Callers.ts"
import { ConcurrencyLimits, enterOfKey } from "./ConcurrencyLimits.ts"
import { GatewayKeys } from "./GatewayKeys.ts"
import { isGatewayKey } from "./keySecret.ts"
import { OF_KEYS, ofTenants, rateKey, RateLimits } from "./RateLimits.ts"
import { Tokens } from "./Tokens.ts"

interface GatewayCallerSettings {
  /** Calls per minute of a tenant, and in flight; 0 is no limit. */
  readonly perMinute: number
  readonly inFlight: number
  /** Refused credentials per minute from one source; 0 is no limit. */
  readonly refusedPerMinute: number
}

export const layerGatewayCallers = ({ inFlight, perMinute, refusedPerMinute }: GatewayCallerSettings) =>
  Layer.effect(
    Callers,
    Effect.gen(function* () {
      const keys = yield* GatewayKeys
      const tokens = yield* Tokens
      const rates = yield* RateLimits
      const concurrency = yield* ConcurrencyLimits

      const callerOf = Effect.fnUntraced(function* (token: string) {
        const identity = yield* isGatewayKey(token)
          ? keys.identify(Redacted.make(token))
          : tokens.verify(Redacted.make(token))
        const { key, subject, tenant } = identity
        if (!hasRole(identity, "run")) return yield* AccessDenied.of(identity, "run")
        if (key?.agents !== undefined) return yield* AccessDenied.limited()
        return { id: JSON.stringify([tenant, key?.id ?? subject]), identity }
      })

      return Callers.of({
        required: true,
        ...(yield* makeIdentify(refusedPerMinute, callerOf)),
        enter: (caller) => {
          if (caller?.identity === undefined) return Effect.void
          const { key, tenant } = caller.identity
          // The key's limits first, so that requests beyond them take nothing from the others of the tenant.
          return Effect.andThen(
            key?.perMinute === undefined ? Effect.void : rates.take(rateKey(OF_KEYS, key.id), key.perMinute),
            Effect.andThen(
              enterOfKey(concurrency, caller.identity),
              Effect.andThen(
                rates.take(rateKey(ofTenants("execute"), tenant), perMinute),
                concurrency.enter(`calls:${tenant}`, inFlight),
              ),
            ),
          )
        },
      })
    }),
  )
