/** Makes tokens for development and tests; in production an identity provider does. */
import { Clock, Duration, Effect, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { SignJWT } from "jose/jwt/sign"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"

interface MintOptions {
  readonly secret: Redacted.Redacted
  readonly issuer: string
  readonly audience: string
  readonly subject: string
  /** A token without a tenant counts only where users are tenants. */
  readonly tenant?: string | undefined
  readonly roles: ReadonlyArray<string>
  readonly ttl: Duration.Duration
}

export const mintToken = Effect.fnUntraced(function* (options: MintOptions) {
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const claims = {
    ...withoutUndefined({ tenant: options.tenant }),
    ...(options.roles.length === 0 ? {} : { roles: options.roles }),
  }
  const token = yield* Effect.promise(() =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: "HS256", typ: "JWT" })
      .setSubject(options.subject)
      .setIssuer(options.issuer)
      .setAudience(options.audience)
      .setIssuedAt(now)
      .setExpirationTime(now + Math.ceil(Duration.toSeconds(options.ttl)))
      .setJti(SecureRandom.uuidV7Unsafe())
      .sign(new TextEncoder().encode(Redacted.value(options.secret))),
  )
  return Redacted.make(token)
})
