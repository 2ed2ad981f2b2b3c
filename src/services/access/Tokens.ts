/** Verifies bearer tokens: signed JWTs with required claims, checked as RFC 8725 advises. All refusals look the same. */
import { hash } from "node:crypto"
import { Clock, Context, Effect, Layer, Redacted, Schema } from "effect"
import { FetchHttpClient } from "effect/http"
import type { CryptoKey } from "jose"
import { decodeProtectedHeader } from "jose/decode/protected_header"
import { jwtVerify } from "jose/jwt/verify"
import {
  ClaimedTenant,
  type Identity,
  Subject,
  tenantOfUser,
  type TokenKeysUnavailable,
  TokenRefused,
} from "../../domain/access/identity.ts"
import { type JwksLocation, jwksKeys, type JwksUnreadable, secretKeys, type TokenKeys } from "./TokenKeys.ts"

export interface TokenSettings {
  /** Secret of HS256 tokens, at least 32 bytes (RFC 7518 §3.2). */
  readonly secret: Redacted.Redacted | undefined
  /** A second secret, accepted while secrets are rotated. */
  readonly previousSecret?: Redacted.Redacted | undefined
  /** Keys of RS256, ES256 and Ed25519 tokens. */
  readonly jwks: JwksLocation | undefined
  readonly issuer: string
  /** The `aud` that tokens must include. */
  readonly audience: string
  /** Whether a token without `tenant` gets a tenant for its user; otherwise it is refused. */
  readonly usersAreTenants: boolean
}

const MAX_VERIFIED = 1024

/** The identity in a token verified with `key`, valid from `from` to `until`, in milliseconds since the epoch. */
interface Verified {
  readonly identity: Identity
  readonly key: CryptoKey
  readonly from: number
  readonly until: number
}

/** The longest token that is checked, in characters. */
const MAX_TOKEN_LENGTH = 8192
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
    /** Returns the identity of the token's bearer. An empty token counts as absent. */
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

        // Valid tokens by hash. Validity depends only on token, key and time, so a token is verified once per key.
        const verified = new Map<string, Verified>()

        const identityOf = Effect.fnUntraced(function* (claims: unknown) {
          const { sub, tenant, ...roles } = yield* Effect.mapError(decodeClaims(claims), refused)
          if (tenant !== undefined) return { subject: sub, tenant, ...roles }
          return settings.usersAreTenants ? { subject: sub, tenant: tenantOfUser(sub), ...roles } : yield* refused()
        })

        const check = Effect.fnUntraced(function* (token: string) {
          const header = yield* Effect.try({ try: () => decodeProtectedHeader(token), catch: refused })
          const fitting = sources.filter(({ algorithms }) => algorithms.includes(header.alg ?? ""))
          if (fitting.length === 0) return yield* refused()
          const now = yield* Clock.currentTimeMillis
          const digest = hash("sha256", token, "base64url")
          return yield* Effect.firstSuccessOf(
            fitting.map(({ algorithms, keyFor }) =>
              Effect.flatMap(keyFor(header), (key) => {
                const known = verified.get(digest)
                const isValid = known?.key === key && known.from <= now && now < known.until
                return isValid ? Effect.succeed(known.identity) : verify(token, digest, key, algorithms, now)
              }),
            ),
          )
        })

        const verify = Effect.fnUntraced(function* (
          token: string,
          digest: string,
          key: CryptoKey,
          algorithms: ReadonlyArray<string>,
          now: number,
        ) {
          const { payload } = yield* Effect.tryPromise({
            try: () =>
              jwtVerify(token, key, {
                algorithms: [...algorithms],
                issuer: settings.issuer,
                audience: settings.audience,
                requiredClaims: ["exp", "sub"],
                clockTolerance: CLOCK_SKEW_SECONDS,
                currentDate: new Date(now),
              }),
            catch: refused,
          })
          const { exp = 0 } = payload
          const until = (exp + CLOCK_SKEW_SECONDS) * 1000
          const identity = { ...(yield* identityOf(payload)), until }
          verified.delete(digest)
          verified.set(digest, { identity, key, from: now, until })
          if (verified.size > MAX_VERIFIED) for (const oldest of verified.keys().take(1)) verified.delete(oldest)
          return identity
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
