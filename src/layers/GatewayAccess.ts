/** What the gateway checks tokens with. */
import { randomBytes } from "node:crypto"
import { Redacted } from "effect"
import type { TokenSettings } from "../services/access/Tokens.ts"
import type { GatewaySettings } from "./config/gatewaySettings.ts"

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
        operatorHost: "127.0.0.1",
        jwtSecret: settings.jwtSecret ?? Redacted.make(randomBytes(DEV_SECRET_BYTES).toString("base64url")),
      }
    : settings

/** What tokens are checked with. */
export const tokenSettingsOf = (settings: GatewaySettings): TokenSettings => {
  const { jwtAudience: audience, jwtIssuer: issuer, jwtJwksFile, jwtJwksUrl, jwtSecret: secret } = settings
  const { jwtPreviousSecret: previousSecret, jwtUsersAreTenants: usersAreTenants } = settings
  const jwks =
    jwtJwksUrl !== undefined ? { url: jwtJwksUrl } : jwtJwksFile !== undefined ? { file: jwtJwksFile } : undefined
  return { secret, previousSecret, jwks, issuer, audience, usersAreTenants }
}
