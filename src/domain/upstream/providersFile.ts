/** The operator's file of providers (`PROVIDERS_FILE`), beside the slots of the environment. */
import { Schema } from "effect"
import { Prices } from "../routing/money.ts"
import { apiAt } from "./apis.ts"
import { ModelName } from "./targets.ts"
import { ProviderId } from "./upstream.ts"

const MAX_PROVIDERS = 100
const MAX_MODELS = 200
/** Limited because every call of the gateway looks at all of them. */
const MAX_ALL_MODELS = 500
const MAX_HEADERS = 16

/** Names of the slots and of the built-in echo. */
const RESERVED = /^(?:provider[0-9]|echo)$/

/** Headers that decide how a request is sent, or carry the key. */
const OWN_HEADERS = new Set(
  "authorization x-api-key x-goog-api-key host connection content-length content-type content-encoding transfer-encoding te trailer upgrade expect keep-alive proxy-authorization proxy-connection accept accept-encoding user-agent".split(
    " ",
  ),
)

const expected = (pattern: RegExp, words: string) => Schema.String.check(Schema.isPattern(pattern, { expected: words }))

/** The server of a provider, to which its key is sent. */
const BaseUrl = Schema.String.check(
  Schema.isMaxLength(2048),
  Schema.makeFilter(
    (text: string) => {
      if (!URL.canParse(text)) return false
      const { hash, password, protocol, search, username } = new URL(text)
      return /^https?:$/.test(protocol) && [hash, password, search, username].every((part) => part === "")
    },
    { message: "expected an http or https URL without user, password, query and fragment" },
  ),
  Schema.makeFilter((text: string) => !URL.canParse(text) || apiAt(new URL(text).pathname) === undefined, {
    message: "leave out the path of the endpoint, such as /chat/completions",
  }),
)

const isHeader = (name: string): boolean => /^[a-z0-9-]{1,64}$/.test(name) && !OWN_HEADERS.has(name)

const Headers = Schema.Record(
  Schema.String,
  expected(/^[\x21-\x7e](?:[\x20-\x7e]{0,510}[\x21-\x7e])?$/, "visible ASCII characters"),
).check(
  Schema.isMaxProperties(MAX_HEADERS),
  Schema.makeFilter((headers: Readonly<Record<string, string>>) => Object.keys(headers).every(isHeader), {
    message: "names must be in lower case, and not those of headers that sealgate or HTTP sets, such as authorization",
  }),
)

const uniqueNames = Schema.makeFilter(
  (items: ReadonlyArray<{ readonly name: string }>) => new Set(items.map(({ name }) => name)).size === items.length,
  { message: "two entries have the same name" },
)

/** A model that a provider of the file offers. Without prices its calls are unpriced. */
export const OfferedModel = Schema.Struct({
  name: ModelName,
  prices: Schema.optionalKey(Prices),
  max_context_tokens: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100_000_000 }))),
})
export type OfferedModel = typeof OfferedModel.Type

export const FileProvider = Schema.Struct({
  name: ProviderId.check(
    Schema.makeFilter((name: string) => !RESERVED.test(name), {
      message: "provider0 to provider9 and echo are reserved; choose another name",
    }),
  ),
  format: Schema.Literals(["openai", "mistral", "anthropic", "gemini"]),
  base_url: BaseUrl,
  key_env: Schema.optionalKey(expected(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "the name of an environment variable")),
  key_file: Schema.optionalKey(Schema.String.check(Schema.isBetweenLength(1, 4096))),
  /** Whether the operator has no key, so that each tenant of a gateway brings its own. */
  tenant_keys: Schema.optionalKey(Schema.Literal(true)),
  models: Schema.Array(OfferedModel).check(Schema.isMinLength(1), Schema.isMaxLength(MAX_MODELS), uniqueNames),
  headers: Schema.optionalKey(Headers),
  region: Schema.optionalKey(expected(/^[a-z0-9-]{1,32}$/, "1 to 32 letters a-z, digits and dashes")),
}).check(
  Schema.makeFilter(
    ({ key_env, key_file, tenant_keys }) =>
      [key_env, key_file, tenant_keys].filter((given) => given !== undefined).length === 1,
    { message: "set exactly one of key_env, key_file and tenant_keys" },
  ),
)
export type FileProvider = typeof FileProvider.Type

export const ProvidersFile = Schema.Struct({
  providers: Schema.Array(FileProvider).check(
    // Without slots, the echo would answer instead.
    Schema.makeFilter((providers: ReadonlyArray<FileProvider>) => providers.length > 0, {
      message: "name at least one provider, or remove PROVIDERS_FILE",
    }),
    Schema.isMaxLength(MAX_PROVIDERS),
    uniqueNames,
    Schema.makeFilter(
      (providers: ReadonlyArray<FileProvider>) =>
        providers.reduce((sum, { models }) => sum + models.length, 0) <= MAX_ALL_MODELS,
      { message: `all providers together may have ${MAX_ALL_MODELS} models` },
    ),
  ),
})
