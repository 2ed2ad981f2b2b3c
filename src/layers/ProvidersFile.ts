/** Reads the file of providers and their keys, and follows it. */
import { createHash } from "node:crypto"
import { Config, Effect, Option, Redacted, Schema } from "effect"
import { type FileProvider, ProvidersFile } from "../domain/upstream/providersFile.ts"
import { SecretText } from "./config/codecs.ts"
import { bytesOf, MAX_FILE_BYTES, OperatorFileUnusable, parsing } from "./operatorFile.ts"

const MAX_KEY_BYTES = 16 * 1024

export interface KeyedProvider {
  readonly described: FileProvider
  /** `undefined` if tenants bring keys. */
  readonly apiKey: Redacted.Redacted | undefined
  /** Identifies description and key. */
  readonly digest: string
}

const hashOf = (...parts: ReadonlyArray<string>): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("base64url")

const decodeKey = Schema.decodeUnknownOption(SecretText)

const parse = parsing(ProvidersFile)

const keyText = ({ key_env, key_file }: FileProvider): Effect.Effect<string, string> => {
  if (key_file !== undefined) {
    return Effect.mapBoth(bytesOf(key_file, true, MAX_KEY_BYTES), {
      onSuccess: (bytes) => bytes.toString("utf8"),
      onFailure: (problem) => `the key's file ${key_file} ${problem}`,
    })
  }
  const variable = key_env ?? ""
  const missing = () => `the variable ${variable} is not set; set it, to any text if the server asks for no key`
  return Config.option(Config.String(variable)).pipe(
    Effect.mapError(missing),
    Effect.flatMap(Option.match({ onNone: () => Effect.fail(missing()), onSome: Effect.succeed })),
  )
}

const withKey = (described: FileProvider): Effect.Effect<KeyedProvider, string> =>
  Effect.gen(function* () {
    if (described.tenant_keys === true) {
      return { described, apiKey: undefined, digest: hashOf(JSON.stringify(described)) }
    }
    const key = decodeKey((yield* keyText(described)).trim())
    if (Option.isNone(key)) return yield* Effect.fail("its key is not one line of visible ASCII characters")
    return {
      described,
      apiKey: key.value,
      digest: hashOf(JSON.stringify(described), Redacted.value(key.value)),
    }
  }).pipe(Effect.mapError((problem) => `has no key for ${described.name}: ${problem}`))

export const readProvidersFile = Effect.fnUntraced(
  function* (file: string) {
    const { providers } = yield* Effect.fromResult(parse(yield* bytesOf(file, false, MAX_FILE_BYTES)))
    const content: ReadonlyArray<KeyedProvider> = yield* Effect.forEach(providers, withKey)
    return { content, digest: hashOf(...content.map(({ digest }) => digest)) }
  },
  (effect, file) =>
    Effect.mapError(effect, (problem) => new OperatorFileUnusable({ setting: "PROVIDERS_FILE", file, problem })),
)
