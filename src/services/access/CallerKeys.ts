/**
 * Keys of callers. A key is shown once; the operator's file has its hash, one line per key, and is reloaded when it
 * changes. A key has 256 random bits, so its hash needs no salt.
 */
import { createHash, createHmac, randomBytes } from "node:crypto"
import { fileReason } from "../../domain/problems/systemErrors.ts"
import { Effect, Redacted, Result, Schema } from "effect"
import { readKeys } from "../fileAccess.ts"
import { followFile } from "../followFile.ts"

const PREFIX = "sg_"
const KEY_BYTES = 32
const KEY = /^sg_[\w-]{43}$/
const LINE = /^([\w.@-]{1,64})[ \t]+sha256:([\w-]{43})$/

/** Largest file, in bytes, and most keys in it. */
const MAX_FILE_BYTES = 1024 * 1024
const MAX_KEYS = 10_000

export const CallerName = Schema.String.check(
  Schema.isPattern(/^[\w.@-]{1,64}$/, { expected: "1 to 64 characters of A-Z a-z 0-9 . _ @ -" }),
)

const hashOf = (bytes: string | Buffer): string => createHash("sha256").update(bytes).digest("base64url")

export const newCallerKey = (name: string): { readonly key: Redacted.Redacted; readonly line: string } => {
  const key = PREFIX + randomBytes(KEY_BYTES).toString("base64url")
  return { key: Redacted.make(key), line: `${name} sha256:${hashOf(key)}` }
}

/** Whether a token is a key rather than a JWT. */
export const isCallerKey = (token: string): boolean => token.startsWith(PREFIX)

/** The file of keys cannot be used. The problem names lines without quoting them. */
export class CallerKeysUnusable extends Schema.TaggedError<CallerKeysUnusable>()("CallerKeysUnusable", {
  file: Schema.String,
  problem: Schema.String,
}) {
  override get message(): string {
    return `CALLER_KEYS_FILE: ${this.file} ${this.problem}`
  }
}

const read = Effect.fnUntraced(function* (file: string) {
  const unusable = (problem: string) => new CallerKeysUnusable({ file, problem })
  const content = yield* Effect.tryPromise({
    // Other users may read the hashes, but must not write to the file, because that would admit callers.
    try: () => readKeys(file, false),
    catch: (error) => unusable(`cannot be read: ${fileReason(error)}`),
  })
  if (!Buffer.isBuffer(content)) return yield* unusable(`${content.problem}. ${content.remedy}.`)
  if (content.length > MAX_FILE_BYTES) return yield* unusable(`is longer than ${MAX_FILE_BYTES} bytes`)
  return { text: content.toString(), digest: hashOf(content) }
})

/** Names by the hashes of their keys. A name may have several keys, for rotation; a key has one name. */
const parse = (file: string, text: string): Result.Result<ReadonlyMap<string, string>, CallerKeysUnusable> => {
  const names = new Map<string, string>()
  const unusable = (problem: string) => Result.fail(new CallerKeysUnusable({ file, problem }))
  for (const [index, untrimmed] of text.split("\n").entries()) {
    const line = untrimmed.trim()
    if (line === "" || line.startsWith("#")) continue
    const [, name, hash] = LINE.exec(line) ?? []
    if (name === undefined || hash === undefined)
      return unusable(`has no key in line ${index + 1}: <name> sha256:<hash>`)
    if (names.has(hash)) return unusable(`repeats an earlier key in line ${index + 1}`)
    if (names.size === MAX_KEYS) return unusable(`has more than ${MAX_KEYS} keys`)
    names.set(hash, name)
  }
  return Result.succeed(names)
}

/**
 * Looks keys up in `file`, which is reloaded while the scope is open. Fails if the file cannot be used at the start; later
 * that is logged, and the previous keys stay in force. `nameOf` returns `undefined` for an unknown key.
 */
export const callerKeys = Effect.fnUntraced(function* (file: string) {
  /** Hashes are looked up under a random HMAC key, so that timing reveals nothing about the file's hashes. */
  const blinding = randomBytes(KEY_BYTES)
  const blind = (hash: string): string => createHmac("sha256", blinding).update(hash).digest("base64url")
  const indexed = (names: ReadonlyMap<string, string>) =>
    new Map([...names].map(([hash, name]) => [blind(hash), name] as const))

  const first = yield* read(file)
  let inUse = indexed(yield* Effect.fromResult(parse(file, first.text)))

  const look = Effect.map(read(file), ({ digest, text }) => ({ digest, content: text }))
  const take = Effect.fnUntraced(function* (text: string) {
    const names = yield* Effect.fromResult(parse(file, text))
    inUse = indexed(names)
    return { keys: names.size }
  })
  yield* Effect.forkScoped(followFile({ what: "callers' keys", first: first.digest, read: look, take }))

  return { nameOf: (key: string) => (KEY.test(key) ? inUse.get(blind(hashOf(key))) : undefined) }
})
