/**
 * Access to the proxy: for callers with a key in its file or a token of its issuer, or for everybody if neither is
 * configured. Requests count for their caller, refused credentials for the source address.
 */
import { Context, Effect, Layer, Redacted, type Scope } from "effect"
import {
  type AccessDenied,
  type Identity,
  type TokenKeysUnavailable,
  TokenRefused,
} from "../../domain/access/identity.ts"
import type { StorageUnavailable } from "../../domain/operations/storage.ts"
import { bearerIn } from "./bearer.ts"
import { callerKeys, isCallerKey } from "./CallerKeys.ts"
import { ConcurrencyLimits, type TooManyInFlight } from "./ConcurrencyLimits.ts"
import { type RateLimited, RateLimits } from "./RateLimits.ts"
import { Tokens, type TokenSettings } from "./Tokens.ts"

export interface CallerSettings {
  /** Hashes of keys, see `CallerKeys.ts`. */
  readonly keysFile: string | undefined
  /** Settings for tokens, if they are accepted. */
  readonly tokens: TokenSettings | undefined
  /** Requests per minute of one caller; 0 is no limit. */
  readonly perMinute: number
  /** Requests in flight of one caller; 0 is no limit. */
  readonly inFlight: number
  /** Refused credentials per minute from one source; 0 is no limit. */
  readonly refusedPerMinute: number
}

export interface Caller {
  /** The key under which requests are counted: the same for all keys of one name, and all tokens of one subject. */
  readonly id: string
  /** At a gateway, whose calls have tenants. */
  readonly identity?: Identity
}

/** Why a credential does not identify a caller. */
type NotIdentified = TokenRefused | TokenKeysUnavailable | AccessDenied | StorageUnavailable

/** The source of a request: the client that it counts for outside the seal. */
export const Source = Context.Reference<string>("sealgate/services/access/Callers/Source", {
  defaultValue: () => "unknown",
})

export class Callers extends Context.Service<
  Callers,
  {
    /** Whether a credential is needed. */
    readonly required: boolean
    /** Fails after too many refused credentials from the request's {@link Source}. */
    readonly mayTry: Effect.Effect<void, RateLimited>
    /** The caller with this `Authorization`; `undefined` if none is needed. A refusal counts against the source. */
    readonly identify: (credential: string) => Effect.Effect<Caller | undefined, NotIdentified>
    /** Counts a request of the caller, and as in flight until the scope closes. */
    readonly enter: (caller: Caller | undefined) => Effect.Effect<void, RateLimited | TooManyInFlight, Scope.Scope>
  }
>()("sealgate/services/access/Callers") {
  static readonly layer = (settings: CallerSettings) =>
    Layer.effect(
      Callers,
      Effect.suspend(() => make(settings)),
    )

  /** Admits everybody, without limits. */
  static readonly layerOpen = Layer.sync(Callers, () => OPEN)
}

const OPEN: Callers["Service"] = {
  required: false,
  mayTry: Effect.void,
  identify: () => Effect.undefined,
  enter: () => Effect.void,
}

const refused = () => new TokenRefused()

/** Identifies callers by bearer tokens, and counts refused ones, `perMinute` of which are accepted from one source. */
export const makeIdentify = Effect.fnUntraced(function* (
  perMinute: number,
  callerOf: (token: string) => Effect.Effect<Caller, NotIdentified>,
) {
  const rates = yield* RateLimits
  const refusedHere = Effect.map(Source, (source) => `refused-credentials:${source}`)
  const callerWith = Effect.fnUntraced(function* (credential: string) {
    if (credential === "") return yield* TokenRefused.absent()
    const token = bearerIn(credential)
    return yield* token === undefined ? refused() : callerOf(token)
  })
  return {
    mayTry: Effect.flatMap(refusedHere, (key) => Effect.asVoid(rates.lookHere(key, perMinute))),
    identify: (credential: string) =>
      Effect.tapErrorTag(callerWith(credential), "TokenRefused", () =>
        // The refusal that exceeds the limit takes effect at the next request.
        Effect.flatMap(refusedHere, (key) => Effect.ignore(rates.takeHere(key, perMinute))),
      ),
  }
})

const tokenId = (tenant: string, subject: string): string =>
  `token:${encodeURIComponent(tenant)}/${encodeURIComponent(subject)}`

const make = Effect.fnUntraced(function* (settings: CallerSettings) {
  const rates = yield* RateLimits
  const concurrency = yield* ConcurrencyLimits
  const keys = settings.keysFile === undefined ? undefined : yield* callerKeys(settings.keysFile)
  const tokens =
    settings.tokens === undefined ? undefined : Context.get(yield* Layer.build(Tokens.layer(settings.tokens)), Tokens)
  if (keys === undefined && tokens === undefined) return OPEN

  const callerOf = Effect.fnUntraced(function* (token: string) {
    if (isCallerKey(token)) {
      const name = keys?.nameOf(token)
      return name === undefined ? yield* refused() : { id: `key:${name}` }
    }
    if (tokens === undefined) return yield* refused()
    const { subject, tenant } = yield* tokens.verify(Redacted.make(token))
    return { id: tokenId(tenant, subject) }
  })

  return Callers.of({
    required: true,
    ...(yield* makeIdentify(settings.refusedPerMinute, callerOf)),
    enter: (caller) =>
      caller === undefined
        ? Effect.void
        : Effect.andThen(
            rates.take(`caller:${caller.id}`, settings.perMinute),
            concurrency.enter(`caller:${caller.id}`, settings.inFlight),
          ),
  })
})
