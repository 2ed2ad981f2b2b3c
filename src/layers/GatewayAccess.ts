/** The settings of a gateway for development. */
import { randomBytes } from "node:crypto"
import { Redacted } from "effect"
import type { GatewaySettings } from "./config/gatewaySettings.ts"

const DEV_SECRET_BYTES = 48

/**
 * The settings as they will be used. With `dev`, the gateway binds to this machine alone, and makes a signing secret if
 * there is none, which is lost when the process ends.
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
