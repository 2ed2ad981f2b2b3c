/**
 * Verifies bearer tokens: signed JWTs with the claims that this service demands, checked as RFC 8725 advises. Whatever
 * is wrong with a token, the answer is the same.
 */
import { Clock, Context, Effect, Layer, Redacted, Schema } from "effect"
import { FetchHttpClient } from "effect/http"
import { decodeProtectedHeader, jwtVerify } from "jose"
import {
  ClaimedTenant,
  type Identity,
  Subject,
  tenantOfUser,
  type TokenKeysUnavailable,
  TokenRefused,
} from "../../domain/identity.ts"
import { type JwksLocation, jwksKeys, type JwksUnreadable, secretKeys, type TokenKeys } from "./TokenKeys.ts"

export interface TokenSettings {
  /** Of HS256 tokens; at least 32 bytes (RFC 7518 §3.2). */
  readonly secret: Redacted.Redacted | undefined
  /** A second secret, whose tokens also count while secrets are rotated. */
  readonly previousSecret?: Redacted.Redacted | undefined
  /** Of RS256, ES256 and Ed25519 tokens. */
  readonly jwks: JwksLocation | undefined
  /** The `iss` that tokens must have. */
  readonly issuer: string
  /** The `aud` that tokens must have, alone or among others. */
  readonly audience: string
  /** Whether a token without `tenant` counts for a tenant of its user's own; otherwise it is refused. */
  readonly usersAreTenants: boolean
}

/** The longest token that is checked, in characters. */
const MAX_TOKEN_LENGTH = 8192
/** How far clocks may be apart, in seconds. */
const CLOCK_SKEW_SECONDS = 30

const Claims = Schema.Struct({
  sub: Subject,
  tenant: Schema.optionalKey(ClaimedTenant),
  roles: Schema.optionalKey(Schema.Array(Schema.String)),
})
const decodeClaims = Schema.decodeUnknownEffect(Claims)

const refused = () => new TokenRefused()

export class Tokens extends Context.Service<
  Tokens,
  {
    /** Who the token's bearer is. An empty token is none. */
    readonly verify: (token: Redacted.Redacted) => Effect.Effect<Identity, TokenRefused | TokenKeysUnavailable>
  }
>()("sealgate/services/access/Tokens") {
  static readonly layerNoDeps = (settings: TokenSettings) =>
    Layer.effect(
      Tokens,
      Effect.gen(function* () {
        const sources: ReadonlyArray<TokenKeys> = [
          ...(settings.secret === undefined ? [] : [yield* secretKeys(settings.secret)]),
          ...(settings.previousSecret === undefined ? [] : [yield* secretKeys(settings.previousSecret)]),
          ...(settings.jwks === undefined ? [] : [yield* jwksKeys(settings.jwks)]),
        ]

        const check = Effect.fnUntraced(function* (token: string) {
          const header = yield* Effect.try({ try: () => decodeProtectedHeader(token), catch: refused })
          const fitting = sources.filter(({ algorithms }) => algorithms.includes(header.alg ?? ""))
          if (fitting.length === 0) return yield* refused()
          const currentDate = new Date(yield* Clock.currentTimeMillis)
          const { payload } = yield* Effect.firstSuccessOf(
            fitting.map(({ algorithms, keyFor }) =>
              Effect.flatMap(keyFor(header), (key) =>
                Effect.tryPromise({
                  try: () =>
                    jwtVerify(token, key, {
                      algorithms: [...algorithms],
                      issuer: settings.issuer,
                      audience: settings.audience,
                      requiredClaims: ["exp", "sub"],
                      clockTolerance: CLOCK_SKEW_SECONDS,
                      currentDate,
                    }),
                  catch: refused,
                }),
              ),
            ),
          )
          const { roles = [], sub, tenant } = yield* Effect.mapError(decodeClaims(payload), refused)
          if (tenant !== undefined) return { subject: sub, tenant, roles }
          return settings.usersAreTenants ? { subject: sub, tenant: tenantOfUser(sub), roles } : yield* refused()
        })

        return Tokens.of({
          verify: (token) => {
            const text = Redacted.value(token)
            if (text === "") return Effect.fail(TokenRefused.absent())
            return text.length > MAX_TOKEN_LENGTH ? Effect.fail(refused()) : check(text)
          },
        })
      }),
    )

  static readonly layer = (settings: TokenSettings): Layer.Layer<Tokens, JwksUnreadable> =>
    Layer.provide(Tokens.layerNoDeps(settings), FetchHttpClient.layer)
}
