/** Secrets and signatures of Standard Webhooks. */
import { createHmac, randomBytes } from "node:crypto"
import { Redacted } from "effect"

const PREFIX = "whsec_"
const SECRET_BYTES = 32

/** A new secret: `whsec_` and 256 random bits in base64. */
export const makeWebhookSecret = (): Redacted.Redacted =>
  Redacted.make(PREFIX + randomBytes(SECRET_BYTES).toString("base64"))

/**
 * The value of `webhook-signature`: one signature per secret. `timestamp` is in seconds since the epoch.
 *
 * Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export const signatureOf = (
  secrets: ReadonlyArray<Redacted.Redacted>,
  message: { readonly id: string; readonly timestamp: number; readonly body: string },
): string =>
  secrets
    .map((secret) => {
      const key = Buffer.from(Redacted.value(secret).slice(PREFIX.length), "base64")
      const signed = `${message.id}.${message.timestamp}.${message.body}`
      return `v1,${createHmac("sha256", key).update(signed).digest("base64")}`
    })
    .join(" ")
