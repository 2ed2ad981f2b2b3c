/** Secrets of a tenant, which its agents' tools need: each is a bearer token for one origin. */
import { Schema } from "effect"
import { Refusal } from "../problems/refusal.ts"

/** Maximum number of a tenant's secrets. */
export const MAX_SECRETS = 100
const MAX_VALUE = 4096
const MAX_ORIGIN = 300

export const SecretName = Schema.String.check(
  Schema.isMaxLength(64),
  Schema.isPattern(/^[a-zA-Z0-9_-]{1,64}$/, { expected: "1 to 64 letters, digits, underscores or hyphens" }),
)

const originMistake = (text: string): string | undefined => {
  if (!URL.canParse(text)) return "give an origin, such as https://api.example.com"
  const { origin, protocol } = new URL(text)
  if (protocol !== "https:" && protocol !== "http:") return "give an https origin"
  return origin === text ? undefined : "give scheme, host and port only, in lower case, such as https://api.example.com"
}

const Origin = Schema.String.annotate({
  description: "The only origin that gets the secret, such as https://api.example.com.",
}).check(Schema.isMaxLength(MAX_ORIGIN), Schema.makeFilter(originMistake))

/** A new value of a secret. The alphabet is that of bearer tokens (RFC 6750 §2.1). */
export const PutSecret = Schema.Struct({
  value: Schema.Redacted(
    Schema.String.annotate({ description: "Sent as `Authorization: Bearer …`. No answer shows it." }).check(
      Schema.isBetweenLength(8, MAX_VALUE),
      Schema.isPattern(/^[A-Za-z0-9._~+/-]+=*$/, { expected: "a bearer token: letters, digits and ._~+/-, then =" }),
    ),
  ),
  origin: Origin,
})
export type PutSecret = typeof PutSecret.Type

/** A secret, without its value. */
export const SecretInfo = Schema.Struct({
  name: SecretName,
  origin: Origin,
  updated_at: Schema.DateTimeUtcFromString.annotate({ description: "When its value was set." }),
})
export type SecretInfo = typeof SecretInfo.Type

/** The secret does not exist or belongs to another tenant. */
export class SecretNotFound extends Refusal<SecretNotFound>()("SecretNotFound", {
  code: "secret-not-found",
  status: 404,
  title: "There is no such secret.",
}) {}

/** Without a key, secrets could not be encrypted. */
export class SecretsOff extends Refusal<SecretsOff>()("SecretsOff", {
  code: "secrets-off",
  status: 409,
  title: "This gateway keeps no secrets, because its operator has set no SECRETS_KEY. Ask the operator to set it.",
}) {}

/** The tenant has the most secrets it may have. */
export class TooManySecrets extends Refusal<TooManySecrets>()("TooManySecrets", {
  code: "too-many-secrets",
  status: 409,
  title: `A tenant has at most ${MAX_SECRETS} secrets; delete one that no tool needs.`,
}) {}
