/** How a gateway for development differs. */
import { randomBytes } from "node:crypto"
import { Redacted } from "effect"
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
