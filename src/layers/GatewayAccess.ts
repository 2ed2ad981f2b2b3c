/** What the gateway checks tokens with. Without anything to check them with it does not start, except for development. */
import { randomBytes } from "node:crypto"
import { Effect, Redacted } from "effect"
import { hostName, isLoopback } from "../domain/hostName.ts"
import type { TokenSettings } from "../services/access/Tokens.ts"
import type { gatewaySettings } from "./config/gatewaySettings.ts"
import { ConfigurationMistakes, type Decoded } from "./config/Setting.ts"

export type GatewaySettings = Decoded<typeof gatewaySettings>

type AccessSettings = Pick<
  GatewaySettings,
  "dev" | "jwtAudience" | "jwtIssuer" | "jwtJwksFile" | "jwtJwksUrl" | "jwtPreviousSecret" | "jwtSecret"
>

const DEV_SECRET_BYTES = 48

/**
 * The settings as they will be used: `dev` binds to this machine alone and makes a secret where there is none, that is
 * forgotten when the process ends.
 */
export const forDevelopment = (settings: GatewaySettings): GatewaySettings =>
  settings.dev
    ? {
        ...settings,
        host: "127.0.0.1",
        jwtSecret: settings.jwtSecret ?? Redacted.make(randomBytes(DEV_SECRET_BYTES).toString("base64url")),
      }
    : settings

const mistake = (variable: string, problem: string) =>
  Effect.fail(new ConfigurationMistakes({ mistakes: [{ variable, problem }] }))

/** What tokens are checked with, or what is wrong with that. */
export const tokenSettingsOf = (settings: AccessSettings): Effect.Effect<TokenSettings, ConfigurationMistakes> => {
  const { jwtAudience: audience, jwtIssuer: issuer, jwtJwksFile, jwtJwksUrl, jwtSecret: secret } = settings
  if (jwtJwksUrl !== undefined && jwtJwksFile !== undefined) {
    return mistake("JWT_JWKS_FILE", "is set together with JWT_JWKS_URL; keep one of them")
  }
  if (jwtJwksUrl?.protocol === "http:" && !isLoopback(hostName(jwtJwksUrl.host))) {
    return mistake("JWT_JWKS_URL", "is plain HTTP, so anybody on the way could put their own keys in; use https")
  }
  const jwks =
    jwtJwksUrl !== undefined ? { url: jwtJwksUrl } : jwtJwksFile !== undefined ? { file: jwtJwksFile } : undefined
  return secret === undefined && jwks === undefined
    ? mistake(
        "JWT_SECRET",
        "is missing; set it, JWT_JWKS_URL or JWT_JWKS_FILE, so that tokens can be checked (to try things out: --dev)",
      )
    : Effect.succeed({ secret, previousSecret: settings.jwtPreviousSecret, jwks, issuer, audience })
}
