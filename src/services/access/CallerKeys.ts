/**
 * Keys of callers. Each is shown once, when it is made; the operator keeps its hash, one line a key, in a file that is read
 * again when it changes. A key is 256 random bits, so nobody finds it from its hash, and the hash needs no salt.
 */
import { createHash, createHmac, randomBytes } from "node:crypto"
import { open } from "node:fs/promises"
import { fileReason } from "../../domain/problems/systemErrors.ts"
import { Duration, Effect, Redacted, Result, Schema } from "effect"
import { accessFault } from "../fileAccess.ts"

const PREFIX = "sg_"
const KEY_BYTES = 32
const KEY = /^sg_[\w-]{43}$/
const LINE = /^([\w.@-]{1,64})[ \t]+sha256:([\w-]{43})$/

/** Most that is read of a file, in bytes, and most keys in it. */
const MAX_FILE_BYTES = 1024 * 1024
const MAX_KEYS = 10_000

/**
 * How often the file is checked, and how soon again while it is being changed, so that no half-written file is used.
 */
const INTERVAL = Duration.seconds(5)
const SETTLE = Duration.seconds(1)

/** The name of a caller, as a line of the file has it. */
export const CallerName = Schema.String.check(
  Schema.isPattern(/^[\w.@-]{1,64}$/, { expected: "1 to 64 characters of A-Z a-z 0-9 . _ @ -" }),
)

const hashOf = (key: string): string => createHash("sha256").update(key).digest("base64url")

/** A new key for `name`, and the line for the file. */
export const newCallerKey = (name: string): { readonly key: Redacted.Redacted; readonly line: string } => {
  const key = PREFIX + randomBytes(KEY_BYTES).toString("base64url")
  return { key: Redacted.make(key), line: `${name} sha256:${hashOf(key)}` }
}

/** Whether a token has the form of such a key. */
export const isCallerKey = (token: string): boolean => token.startsWith(PREFIX)

/** A file of keys that cannot be used. The problem names lines and never quotes them. */
export class CallerKeysUnusable extends Schema.TaggedError<CallerKeysUnusable>()("CallerKeysUnusable", {
  file: Schema.String,
  problem: Schema.String,
}) {
  override get message(): string {
    return `CALLER_KEYS_FILE: ${this.file} ${this.problem}`
  }
}

/**
 * Reads at most this many bytes of a file, and one more if it is longer. Others may read it, because it has hashes alone, but
 * whoever could write to it could let callers in.
 */
const readSome = async (file: string): Promise<Buffer | CallerKeysUnusable> => {
  const handle = await open(file)
  try {
    const fault = accessFault(file, await handle.stat(), false)
    if (fault !== undefined) return new CallerKeysUnusable({ file, problem: `${fault.problem}. ${fault.remedy}.` })
    const buffer = Buffer.alloc(MAX_FILE_BYTES + 1)
    let length = 0
    for (;;) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length)
      length += bytesRead
      if (bytesRead === 0 || length === buffer.length) return buffer.subarray(0, length)
    }
  } finally {
    await handle.close()
  }
}

const read = Effect.fnUntraced(function* (file: string) {
  const bytes = yield* Effect.tryPromise({
    try: () => readSome(file),
    catch: (error) => new CallerKeysUnusable({ file, problem: `cannot be read: ${fileReason(error)}` }),
  })
  if (bytes instanceof CallerKeysUnusable) return yield* bytes
  if (bytes.length > MAX_FILE_BYTES) {
    return yield* new CallerKeysUnusable({ file, problem: `is longer than ${MAX_FILE_BYTES} bytes` })
  }
  return { text: bytes.toString("utf8"), digest: hashOf(bytes.toString("latin1")) }
})

/** Names by the hashes of their keys. A name may have several keys, as while one is replaced; a key has one name. */
const parse = (file: string, text: string): Result.Result<ReadonlyMap<string, string>, CallerKeysUnusable> => {
  const names = new Map<string, string>()
  const unusable = (problem: string) => Result.fail(new CallerKeysUnusable({ file, problem }))
  for (const [index, untrimmed] of text.split("\n").entries()) {
    const line = untrimmed.trim()
    if (line === "" || line.startsWith("#")) continue
    const [, name, hash] = LINE.exec(line) ?? []
    if (name === undefined || hash === undefined)
      return unusable(`has no key in line ${index + 1}: <name> sha256:<hash>`)
    if (names.has(hash)) return unusable(`has in line ${index + 1} a key that it had before`)
    if (names.size === MAX_KEYS) return unusable(`has more than ${MAX_KEYS} keys`)
    names.set(hash, name)
  }
  return Result.succeed(names)
}

/**
 * Looks keys up in `file`, which is read again while the scope is open. A file that cannot be used is an error at the
 * start; later it is logged, and the previous keys stay in force. `undefined`: nobody has that key.
 */
export const callerKeys = Effect.fnUntraced(function* (file: string) {
  /** Keyed hashes are looked up, so that the time of a look-up reveals nothing about the hashes in the file. */
  const blinding = randomBytes(KEY_BYTES)
  const blind = (hash: string): string => createHmac("sha256", blinding).update(hash).digest("base64url")
  const indexed = (names: ReadonlyMap<string, string>) =>
    new Map([...names].map(([hash, name]) => [blind(hash), name] as const))

  const first = yield* read(file)
  let inUse = indexed(yield* Effect.fromResult(parse(file, first.text)))

  const follow = Effect.gen(function* () {
    let taken = first.digest
    let seen = first.digest
    let told: string | undefined
    const refuse = Effect.fnUntraced(function* (id: string, { message }: CallerKeysUnusable) {
      if (told !== id) yield* Effect.logError(`callers' keys not reloaded, the old ones stay in use: ${message}`)
      told = id
    })
    while (true) {
      yield* Effect.sleep(seen === taken ? INTERVAL : SETTLE)
      const look = yield* Effect.result(read(file))
      const id = Result.isSuccess(look) ? look.success.digest : look.failure.problem
      const isSettled = id === seen
      seen = id
      if (!isSettled || id === taken) continue
      const names = Result.flatMap(look, ({ text }) => parse(file, text))
      if (Result.isFailure(names)) {
        yield* refuse(id, names.failure)
        continue
      }
      inUse = indexed(names.success)
      taken = id
      told = undefined
      yield* Effect.logInfo("callers' keys reloaded").pipe(Effect.annotateLogs({ keys: names.success.size }))
    }
  })
  yield* Effect.forkScoped(follow)

  return { nameOf: (key: string) => (KEY.test(key) ? inUse.get(blind(hashOf(key))) : undefined) }
})
