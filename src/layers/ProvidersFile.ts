/** Reads the file of providers and their keys, and follows it. */
import { createHash } from "node:crypto"
import { Config, Effect, Option, Redacted, Result, Schema } from "effect"
import { NotIJson, parseIJson } from "../domain/json/iJson.ts"
import { schemaIssues } from "../domain/json/schemaIssues.ts"
import type { ProblemIssue } from "../domain/problems/problemTypes.ts"
import { fileReason } from "../domain/problems/systemErrors.ts"
import { type FileProvider, ProvidersFile } from "../domain/upstream/providersFile.ts"
import { readKeys } from "../services/fileAccess.ts"
import { SecretText } from "./config/codecs.ts"

const MAX_FILE_BYTES = 1024 * 1024
const MAX_KEY_BYTES = 16 * 1024
/** Mistakes that one message names. */
const MAX_MISTAKES = 5

/** The file of providers, or a key that it names, cannot be used. The problem quotes neither keys nor headers. */
export class ProvidersFileUnusable extends Schema.TaggedError<ProvidersFileUnusable>()("ProvidersFileUnusable", {
  file: Schema.String,
  problem: Schema.String,
}) {
  override get message(): string {
    return `PROVIDERS_FILE: ${this.file} ${this.problem}`
  }
}

/** A provider of the file with its key. */
export interface KeyedProvider {
  readonly described: FileProvider
  readonly apiKey: Redacted.Redacted
  /** Identifies description and key. */
  readonly digest: string
}

const hashOf = (...parts: ReadonlyArray<string>): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("base64url")

const decode = Schema.decodeUnknownResult(ProvidersFile, { onExcessProperty: "error" })
const decodeKey = Schema.decodeUnknownOption(SecretText)

/** The bytes of a file that only its owner may change or, if it is secret, read; else a problem. */
const bytesOf = (file: string, isSecret: boolean, most: number): Effect.Effect<Buffer, string> =>
  Effect.tryPromise({
    try: () => readKeys(file, isSecret),
    catch: (error) => `cannot be read: ${fileReason(error)}`,
  }).pipe(
    Effect.flatMap((content) => {
      if (!Buffer.isBuffer(content)) return Effect.fail(`${content.problem}. ${content.remedy}.`)
      return content.length > most ? Effect.fail(`is longer than ${most} bytes`) : Effect.succeed(content)
    }),
  )

const shown = ({ message, path }: ProblemIssue): string => (path === "" ? message : `${path}: ${message}`)

const parse = (bytes: Buffer): Result.Result<ReadonlyArray<FileProvider>, string> => {
  const json = Result.try({
    try: () => parseIJson(bytes),
    catch: (error) => `cannot be used: ${error instanceof NotIJson ? error.message : "It is not JSON."}`,
  })
  return Result.flatMap(json, (value) =>
    Result.mapBoth(decode(value), {
      onSuccess: ({ providers }) => providers,
      onFailure: ({ issue }) => `has mistakes: ${schemaIssues(issue).slice(0, MAX_MISTAKES).map(shown).join("; ")}`,
    }),
  )
}

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
    const key = decodeKey((yield* keyText(described)).trim())
    if (Option.isNone(key)) return yield* Effect.fail("its key is not one line of visible ASCII characters")
    return {
      described,
      apiKey: key.value,
      digest: hashOf(JSON.stringify(described), Redacted.value(key.value)),
    }
  }).pipe(Effect.mapError((problem) => `has no key for ${described.name}: ${problem}`))

/** Reads the providers in `file`, with their keys. */
export const readProvidersFile = Effect.fnUntraced(
  function* (file: string) {
    const described = yield* Effect.fromResult(parse(yield* bytesOf(file, false, MAX_FILE_BYTES)))
    const content: ReadonlyArray<KeyedProvider> = yield* Effect.forEach(described, withKey)
    return { content, digest: hashOf(...content.map(({ digest }) => digest)) }
  },
  (effect, file) => Effect.mapError(effect, (problem) => new ProvidersFileUnusable({ file, problem })),
)
