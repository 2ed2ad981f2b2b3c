/** Secrets of a tenant: bearer tokens that its agents' tools send to one origin, and its own keys of model providers. */
import { Schema } from "effect"
import { Refusal } from "../problems/refusal.ts"
import { ProviderId } from "../upstream/upstream.ts"

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

/** Where a secret is sent: exactly one of the two. */
const destination = {
  origin: Schema.optionalKey(
    Schema.String.annotate({
      description: "The only origin that gets the secret of a tool, such as https://api.example.com.",
    }).check(Schema.isMaxLength(MAX_ORIGIN), Schema.makeFilter(originMistake)),
  ),
  provider: Schema.optionalKey(
    ProviderId.annotate({ description: "The model provider that the tenant's calls use this key for." }),
  ),
}
type Destination = Schema.Struct.Type<typeof destination>

const hasOne = ({ origin, provider }: Destination): boolean => (origin === undefined) !== (provider === undefined)

/** A new value of a secret. The alphabet is that of bearer tokens (RFC 6750 §2.1). */
export const PutSecret = Schema.Struct({
  value: Schema.RedactedFromValue(
    Schema.String.annotate({ description: "Sent as `Authorization: Bearer …`. No answer shows it." }).check(
      Schema.isBetweenLength(8, MAX_VALUE),
      Schema.isPattern(/^[A-Za-z0-9._~+/-]+=*$/, { expected: "a bearer token: letters, digits and ._~+/-, then =" }),
    ),
  ),
  ...destination,
}).check(Schema.makeFilter(hasOne, { message: "set exactly one of origin and provider" }))
export type PutSecret = typeof PutSecret.Type

export const SecretInfo = Schema.Struct({
  name: SecretName,
  ...destination,
  updated_at: Schema.DateTimeUtcFromString.annotate({ description: "When its value was set." }),
}).annotate({ identifier: "Secret" })
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

export class TooManySecrets extends Refusal<TooManySecrets>()("TooManySecrets", {
  code: "too-many-secrets",
  status: 409,
  title: `A tenant has at most ${MAX_SECRETS} secrets; delete one that no tool needs.`,
}) {}

/** The provider does not exist, or its calls use the operator's key only. */
export class ProviderTakesNoKey extends Refusal<ProviderTakesNoKey>()("ProviderTakesNoKey", {
  code: "provider-takes-no-key",
  status: 422,
  title: "No provider of this name takes keys of tenants.",
  detail: "Ask the operator to set PROVIDERn_TENANT_KEYS=on, or tenant_keys in PROVIDERS_FILE.",
}) {}

export class ProviderKeyElsewhere extends Refusal<ProviderKeyElsewhere>()("ProviderKeyElsewhere", {
  code: "provider-key-elsewhere",
  status: 409,
  title: "Another secret is already the tenant's key of this provider; set or delete that one.",
}) {}
