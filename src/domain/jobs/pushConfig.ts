/** Where an A2A client wants to be notified of its task (A2A 1.0, §4.3.1). */
import { Schema } from "effect"
import { WebhookUrl } from "./webhook.ts"

const MAX_ID = 64
const MAX_SCHEME = 32
const MAX_CREDENTIALS = 4096

const printable = { expected: "printable ASCII characters" }
const Credentials = Schema.RedactedFromValue(
  Schema.String.check(Schema.isMaxLength(MAX_CREDENTIALS), Schema.isPattern(/^[\x20-\x7e]*$/, printable)),
)

/** Part of `webhook-id`, which is signed: it may not begin or end with a space. */
export const PushConfigId = Schema.String.check(
  Schema.isMaxLength(MAX_ID),
  Schema.isPattern(/^[\x21-\x7e]*$/, { expected: "visible ASCII characters" }),
)

/** Texts that are empty, as in ProtoJSON, count as absent. */
export const PushConfig = Schema.Struct({
  id: Schema.optionalKey(PushConfigId),
  url: WebhookUrl,
  /** Sent back to the receiver, so that it can recognize its notices. */
  token: Schema.optionalKey(Credentials),
  authentication: Schema.optionalKey(
    Schema.Struct({
      scheme: Schema.String.check(Schema.isMaxLength(MAX_SCHEME), Schema.isPattern(/^[A-Za-z0-9-]*$/)),
      credentials: Schema.optionalKey(Credentials),
    }),
  ),
})
export type PushConfig = typeof PushConfig.Type

/** A stored configuration. Its credentials are never shown. */
export interface KnownPushConfig {
  readonly id: string
  readonly url: string
}
