/**
 * The file of the attestation key: an Ed25519 private key as unencrypted PKCS #8 in PEM (RFC 8410), readable only by its
 * owner. It is decoded and encoded as bytes, because a string cannot be overwritten.
 */
import { randomFillSync } from "node:crypto"
import { type FileHandle, open } from "node:fs/promises"
import { dirname } from "node:path"
import { Effect, Schema } from "effect"
import { type Bytes, utf8 } from "../../domain/bytes/bytes.ts"
import { fileReason } from "../../domain/problems/systemErrors.ts"
import { createFile } from "../createFile.ts"
import { accessFault } from "../fileAccess.ts"
import { makePrivateFolder } from "../makePrivateFolder.ts"
import { secretBytes } from "./secretBytes.ts"

const HEADER = "-----BEGIN PRIVATE KEY-----"
const FOOTER = "-----END PRIVATE KEY-----"
/** RFC 8410 §7: the bytes of an Ed25519 PKCS #8 document before the 32-byte seed. */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex")
const SEED_BYTES = 32
const MAX_FILE_BYTES = 4096

/** The key file cannot be used: `problem` is the reason, `remedy` the next step. */
export class KeyFileError extends Schema.TaggedError<KeyFileError>()("KeyFileError", {
  path: Schema.String,
  problem: Schema.String,
  remedy: Schema.String,
}) {
  override get message(): string {
    return `${this.path}: ${this.problem}. ${this.remedy}`
  }
}

const isCode = (error: unknown, code: string): boolean =>
  typeof error === "object" && error !== null && "code" in error && error.code === code

/** Remedy if the key file was named by a setting. */
const OTHER_SETTING = "set ATTESTATION_KEY_FILE to another one"

const cannot = (path: string, verb: string, other: string) => (cause: unknown) =>
  new KeyFileError({
    path,
    problem: `cannot be ${verb} (${fileReason(cause)})`,
    remedy: `Check the path and its permissions, or ${other}.`,
  })

const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

/** Decodes Base64, skipping white space; returns no bytes if it is invalid. The caller overwrites the result. */
const decodeBase64Bytes = (text: Uint8Array): Bytes => {
  const decoded = secretBytes(Math.ceil((text.length * 3) / 4))
  let length = 0
  let buffer = 0
  let bits = 0
  for (const code of text) {
    const char = String.fromCharCode(code)
    if (/[\s=]/.test(char)) continue
    const value = BASE64.indexOf(char)
    if (value < 0) return decoded.fill(0).subarray(0, 0)
    buffer = ((buffer << 6) | value) & 0xffff
    bits += 6
    if (bits < 8) continue
    bits -= 8
    decoded[length++] = (buffer >> bits) & 0xff
  }
  return decoded.subarray(0, length)
}

/** The seed in a PEM file, or `undefined` if it is not an unencrypted Ed25519 key. */
const seedOf = (pem: Buffer): Bytes | undefined => {
  const start = pem.indexOf(HEADER)
  const end = pem.indexOf(FOOTER)
  if (start < 0 || end < start) return undefined
  const der = decodeBase64Bytes(pem.subarray(start + HEADER.length, end))
  const isKey =
    der.length === PKCS8_PREFIX.length + SEED_BYTES && PKCS8_PREFIX.equals(der.subarray(0, PKCS8_PREFIX.length))
  const seed = secretBytes(SEED_BYTES)
  if (isKey) seed.set(der.subarray(PKCS8_PREFIX.length))
  der.fill(0)
  return isKey ? seed : undefined
}

const readSeed = Effect.fnUntraced(function* (path: string, file: FileHandle, other: string) {
  const stat = yield* Effect.tryPromise({ try: () => file.stat(), catch: cannot(path, "read", other) })
  if (!stat.isFile() || stat.size > MAX_FILE_BYTES) {
    return yield* new KeyFileError({
      path,
      problem: "is not a key file",
      remedy: "Make one with sealgate keygen.",
    })
  }
  const fault = accessFault(path, stat, true)
  if (fault !== undefined) {
    return yield* new KeyFileError({
      path,
      problem: fault.problem,
      remedy: `${fault.remedy}; if others may have read it, make a new key with sealgate keygen and new pins.`,
    })
  }
  const pem = secretBytes(stat.size)
  const seed = yield* Effect.tryPromise({
    try: () => file.read(pem, 0, stat.size, 0),
    catch: cannot(path, "read", other),
  }).pipe(
    Effect.map(() => seedOf(Buffer.from(pem.buffer))),
    Effect.ensuring(Effect.sync(() => pem.fill(0))),
  )
  if (seed !== undefined) return seed
  return yield* new KeyFileError({
    path,
    problem: "holds no unencrypted Ed25519 private key in PKCS #8 PEM",
    remedy: "Make one with sealgate keygen, or with openssl genpkey -algorithm ed25519.",
  })
})

/** Encodes bytes as Base64. Their number must be a multiple of three. */
const encodeBase64Bytes = (bytes: Uint8Array): Bytes => {
  const encoded = secretBytes((bytes.length / 3) * 4)
  for (let i = 0; i < encoded.length; i++) {
    const at = Math.floor((i * 6) / 8)
    const pair = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
    encoded[i] = BASE64.charCodeAt((pair >> (10 - ((i * 6) % 8))) & 63)
  }
  return encoded
}

const pemOf = (seed: Bytes): Bytes => {
  const der = secretBytes(PKCS8_PREFIX.length + SEED_BYTES)
  der.set(PKCS8_PREFIX)
  der.set(seed, PKCS8_PREFIX.length)
  const encoded = encodeBase64Bytes(der)
  const head = utf8(`${HEADER}\n`)
  const foot = utf8(`\n${FOOTER}\n`)
  const pem = secretBytes(head.length + encoded.length + foot.length)
  pem.set(head)
  pem.set(encoded, head.length)
  pem.set(foot, head.length + encoded.length)
  der.fill(0)
  encoded.fill(0)
  return pem
}

/** Writes a new key and returns its seed; `undefined` if the file exists. */
const writeNewKey = Effect.fnUntraced(function* (path: string, other: string) {
  const seed = randomFillSync(secretBytes(SEED_BYTES))
  const pem = pemOf(seed)
  const written = yield* Effect.tryPromise({
    try: async () => {
      makePrivateFolder(dirname(path))
      try {
        await createFile(path, pem)
      } catch (error) {
        if (isCode(error, "EEXIST")) return false
        throw error
      }
      return true
    },
    catch: cannot(path, "written", other),
  }).pipe(
    Effect.ensuring(Effect.sync(() => pem.fill(0))),
    Effect.onError(() => Effect.sync(() => seed.fill(0))),
    Effect.uninterruptible,
  )
  if (written) return seed
  seed.fill(0)
  return undefined
})

/**
 * Writes a new key, readable only by its owner, and returns its 32-byte seed. Never replaces a file. `other` says how to use
 * another file.
 */
export const createKeyFile = Effect.fnUntraced(function* (path: string, other = OTHER_SETTING) {
  const seed = yield* writeNewKey(path, other)
  if (seed !== undefined) return seed
  return yield* new KeyFileError({
    path,
    problem: "exists already",
    remedy: "Choose another path: a key in use is never overwritten.",
  })
})

/** Reads the 32-byte seed of the key in `path`. `other` says how to use another file. */
export const readKeyFile = (path: string, other = OTHER_SETTING): Effect.Effect<Bytes, KeyFileError> =>
  Effect.acquireUseRelease(
    Effect.tryPromise({ try: () => open(path, "r"), catch: cannot(path, "opened", other) }),
    (file) => readSeed(path, file, other),
    (file) => Effect.promise(() => file.close()),
  )

/** Reads the key in `path`, or creates it if the file does not exist. */
export const loadKeyFile = Effect.fnUntraced(function* (path: string) {
  const exists = yield* Effect.promise(() =>
    open(path, "r").then(
      (file) => file.close().then(() => true),
      (error: unknown) => !isCode(error, "ENOENT"),
    ),
  )
  // Another process may create it in the meantime.
  const seed = exists ? undefined : yield* writeNewKey(path, OTHER_SETTING)
  return seed === undefined ? { created: false, seed: yield* readKeyFile(path) } : { created: true, seed }
})
