/**
 * Verifies bearer tokens: signed JWTs with the claims that this service demands, checked as RFC 8725 advises. Whatever
 * is wrong with a token, the answer is the same.
 */
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

/** Tokens that are remembered at most. */
const MAX_VERIFIED = 1024

/** Who bears a token that was verified with `key`, which holds in this time, in milliseconds since the epoch. */
interface Verified {
  readonly identity: Identity
  readonly key: CryptoKey
  readonly from: number
  readonly until: number
}

/**
 * Tokens that were verified, by their hashes. Whether a token is valid depends on nothing but itself, its key and the time,
 * so as long as its key counts, and until it expires, it is not verified again. Whoever has none that is valid adds none.
 */
class VerifiedTokens {
  private readonly known = new Map<string, Verified>()

  find(digest: string, key: CryptoKey, now: number): Identity | undefined {
    const found = this.known.get(digest)
    return found?.key === key && found.from <= now && now < found.until ? found.identity : undefined
  }

  add(digest: string, verified: Verified): void {
    this.known.delete(digest)
    this.known.set(digest, verified)
    const oldest = this.known.size > MAX_VERIFIED ? this.known.keys().next().value : undefined
    if (oldest !== undefined) this.known.delete(oldest)
  }
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

        const verified = new VerifiedTokens()

        const identityOf = Effect.fnUntraced(function* (claims: unknown) {
          const { roles = [], sub, tenant } = yield* Effect.mapError(decodeClaims(claims), refused)
          if (tenant !== undefined) return { subject: sub, tenant, roles }
          return settings.usersAreTenants ? { subject: sub, tenant: tenantOfUser(sub), roles } : yield* refused()
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
                const known = verified.find(digest, key, now)
                return known === undefined ? verify(token, digest, key, algorithms, now) : Effect.succeed(known)
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
          const identity = yield* identityOf(payload)
          const { exp = 0 } = payload
          verified.add(digest, { identity, key, from: now, until: (exp + CLOCK_SKEW_SECONDS) * 1000 })
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
