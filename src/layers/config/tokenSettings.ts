/** Settings for checking tokens: required by the gateway, optional for a proxy. */
import { Redacted, Schema } from "effect"
import type { Rule } from "../../domain/problems/configuration.ts"
import { hostName, isLoopback } from "../../domain/access/hostName.ts"
import type { TokenSettings } from "../../services/access/Tokens.ts"
import { parsed, PlainText, UrlText } from "./codecs.ts"
import { type Decoded, optionalSetting, setting } from "./Setting.ts"

/** An HS256 key is at least as long as its hash (RFC 7518 §3.2). */
const MIN_SECRET_BYTES = 32

const TokenSecretText = parsed(
  Schema.Redacted(Schema.String),
  (text) => (new TextEncoder().encode(text).length >= MIN_SECRET_BYTES ? Redacted.make(text) : undefined),
  `a secret of at least ${MIN_SECRET_BYTES} bytes, such as \`openssl rand -base64 48\` prints`,
)

export const tokenSettings = {
  jwtSecret: optionalSetting(
    "JWT_SECRET",
    TokenSecretText,
    "Secret of HS256 tokens, at least 32 bytes; this or a JWKS is required by the gateway, and makes a proxy require tokens",
  ),
  jwtIssuer: setting("JWT_ISSUER", PlainText, "sealgate", "Issuer (iss) that tokens must name"),
  jwtAudience: setting("JWT_AUDIENCE", PlainText, "sealgate", "Audience (aud) that tokens must name"),
}

/** Other sources of keys. */
export const tokenSourceSettings = {
  jwtPreviousSecret: optionalSetting(
    "JWT_PREVIOUS_SECRET",
    TokenSecretText,
    "The secret before JWT_SECRET; its tokens stay valid",
  ),
  jwtJwksUrl: optionalSetting(
    "JWT_JWKS_URL",
    UrlText,
    "URL of the issuer's key set (JWKS) for RS256, ES256 and Ed25519 tokens",
  ),
  jwtJwksFile: optionalSetting("JWT_JWKS_FILE", PlainText, "File with that key set, instead of its URL"),
}

type Sources = Decoded<typeof tokenSettings> & Decoded<typeof tokenSourceSettings>

export const checksTokens = ({
  jwtJwksFile,
  jwtJwksUrl,
  jwtSecret,
}: Pick<Sources, "jwtJwksFile" | "jwtJwksUrl" | "jwtSecret">): boolean =>
  [jwtJwksFile, jwtJwksUrl, jwtSecret].some((source) => source !== undefined)

export const tokenSourceRule: Rule<Pick<Sources, "jwtJwksFile" | "jwtJwksUrl">> = {
  of: ["jwtJwksFile", "jwtJwksUrl"],
  problems: ({ jwtJwksFile, jwtJwksUrl }) => ({
    JWT_JWKS_FILE:
      jwtJwksUrl !== undefined && jwtJwksFile !== undefined && "is set together with JWT_JWKS_URL; remove one of them",
    JWT_JWKS_URL:
      jwtJwksUrl?.protocol === "http:" &&
      !isLoopback(hostName(jwtJwksUrl.host)) &&
      "is plain HTTP, so anybody on the path could replace the keys; use https",
  }),
}

export const tokenSettingsOf = (settings: Sources, usersAreTenants: boolean): TokenSettings => {
  const { jwtAudience: audience, jwtIssuer: issuer, jwtJwksFile, jwtJwksUrl, jwtSecret: secret } = settings
  const jwks =
    jwtJwksUrl !== undefined ? { url: jwtJwksUrl } : jwtJwksFile !== undefined ? { file: jwtJwksFile } : undefined
  return { secret, previousSecret: settings.jwtPreviousSecret, jwks, issuer, audience, usersAreTenants }
}
