import { randomBytes } from "node:crypto"
import { Redacted } from "effect"
import type { GatewaySettings } from "./config/gatewaySettings.ts"

const DEV_SECRET_BYTES = 48

export const DEV_HOST = "127.0.0.1"

/** Applies `dev`: listens on loopback only and, without a signing secret, makes one for this process. */
export const forDevelopment = (settings: GatewaySettings): GatewaySettings =>
  settings.dev
    ? {
        ...settings,
        host: DEV_HOST,
        operatorHost: DEV_HOST,
        jwtSecret: settings.jwtSecret ?? Redacted.make(randomBytes(DEV_SECRET_BYTES).toString("base64url")),
      }
    : settings
