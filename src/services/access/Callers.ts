/**
 * Who may use a proxy: whoever has a key in its file, or a token of its issuer; everybody, where there is neither. Requests
 * count for their caller then, wherever they come from; refused credentials count against where they came from.
 */
import { Context, Effect, Layer, Redacted, type Scope } from "effect"
import { type TokenKeysUnavailable, TokenRefused } from "../../domain/identity.ts"
import { bearerIn } from "./bearer.ts"
import { callerKeys, isCallerKey } from "./CallerKeys.ts"
import { ConcurrencyLimits, type TooManyInFlight } from "./ConcurrencyLimits.ts"
import { type RateLimited, RateLimits } from "./RateLimits.ts"
import { Tokens, type TokenSettings } from "./Tokens.ts"

export interface CallerSettings {
  /** Hashes of keys, see `CallerKeys.ts`. */
  readonly keysFile: string | undefined
  /** What tokens are checked with, if they are. */
  readonly tokens: TokenSettings | undefined
  /** Requests per minute of one caller; 0 is no limit. */
  readonly perMinute: number
  /** Requests in flight of one caller; 0 is no limit. */
  readonly inFlight: number
  /** Refused credentials per minute from one source; 0 is no limit. */
  readonly refusedPerMinute: number
}

/** Who sent a request. */
export interface Caller {
  /** Of whom requests are counted: the same for all keys of one name, and all tokens of one subject. */
  readonly id: string
}

/** Where a request comes from, as it is counted outside the seal. */
export const Source = Context.Reference<string>("sealgate/services/access/Callers/Source", {
  defaultValue: () => "unknown",
})

export class Callers extends Context.Service<
  Callers,
  {
    /** Whether a credential is needed. */
    readonly required: boolean
    /** Fails while so many credentials of the request's {@link Source} were refused that no further one is looked at. */
    readonly mayTry: Effect.Effect<void, RateLimited>
    /**
     * Who sends `credential`, which is what HTTP would have in `Authorization`; `undefined` where everybody may ask. A
     * refusal counts against the {@link Source}.
     */
    readonly identify: (credential: string) => Effect.Effect<Caller | undefined, TokenRefused | TokenKeysUnavailable>
    /** Takes one of the caller's requests, and a place in flight until the scope closes. */
    readonly enter: (caller: Caller | undefined) => Effect.Effect<void, RateLimited | TooManyInFlight, Scope.Scope>
  }
>()("sealgate/services/access/Callers") {
  static readonly layer = (settings: CallerSettings) =>
    Layer.effect(
      Callers,
      Effect.suspend(() => make(settings)),
    )

  /** Lets everybody ask, as often as they like. */
  static readonly layerOpen = Layer.succeed(Callers, {
    required: false,
    mayTry: Effect.void,
    identify: () => Effect.undefined,
    enter: () => Effect.void,
  })
}

const refused = () => new TokenRefused()

/** Names may have any character but controls, so what stands between two of them must be none of them. */
const tokenId = (tenant: string, subject: string): string =>
  `token:${encodeURIComponent(tenant)}/${encodeURIComponent(subject)}`

const make = Effect.fnUntraced(function* (settings: CallerSettings) {
  const rates = yield* RateLimits
  const concurrency = yield* ConcurrencyLimits
  const keys = settings.keysFile === undefined ? undefined : yield* callerKeys(settings.keysFile)
  const tokens =
    settings.tokens === undefined ? undefined : Context.get(yield* Layer.build(Tokens.layer(settings.tokens)), Tokens)
  const required = keys !== undefined || tokens !== undefined
  const refusedHere = Effect.map(Source, (source) => `refused-credentials:${source}`)

  const callerOf = Effect.fnUntraced(function* (credential: string) {
    if (credential === "") return yield* TokenRefused.absent()
    const token = bearerIn(credential)
    if (token === undefined) return yield* refused()
    if (isCallerKey(token)) {
      const name = keys?.nameOf(token)
      return name === undefined ? yield* refused() : { id: `key:${name}` }
    }
    if (tokens === undefined) return yield* refused()
    const { subject, tenant } = yield* tokens.verify(Redacted.make(token))
    return { id: tokenId(tenant, subject) }
  })

  return Callers.of({
    required,
    mayTry: required
      ? Effect.flatMap(refusedHere, (key) => Effect.asVoid(rates.lookHere(key, settings.refusedPerMinute)))
      : Effect.void,
    identify: (credential) =>
      required
        ? Effect.tapErrorTag(callerOf(credential), "TokenRefused", () =>
            // One too many is found out when the next request is looked at.
            Effect.flatMap(refusedHere, (key) => Effect.ignore(rates.takeHere(key, settings.refusedPerMinute))),
          )
        : Effect.undefined,
    enter: (caller) =>
      caller === undefined
        ? Effect.void
        : Effect.andThen(
            rates.take(`caller:${caller.id}`, settings.perMinute),
            concurrency.enter(`caller:${caller.id}`, settings.inFlight),
          ),
  })
})
