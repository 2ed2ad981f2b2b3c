/** HMAC-SHA256 (RFC 2104) of short messages under secret keys. */
import { createHmac } from "node:crypto"
import type { Bytes } from "../../domain/bytes/bytes.ts"
import { secretBytes } from "./secretBytes.ts"
import { sodium } from "./sodium.ts"

export const HASH_BYTES = 32
export const BLOCK_BYTES = 64
/** What libsodium hashes sooner than an object of Node's library is made, in bytes. */
const SHORT = 1024

const INNER_PAD = 0x36
const OUTER_PAD = 0x5c

/** Hashes `message` into `digest`, both of which lie where no copy is left of them. */
type Hash = (digest: Bytes, message: Bytes) => void

/** Takes the key padded in two ways, the message behind the one and its hash behind the other: it is all overwritten each time. */
const inner = secretBytes(BLOCK_BYTES + SHORT)
const outer = secretBytes(BLOCK_BYTES + HASH_BYTES)
const innerHash = outer.subarray(BLOCK_BYTES)

/** For keys of at most a block and messages that are short. */
const byHash = (hash: Hash, mac: Bytes, key: Uint8Array, message: ReadonlyArray<Uint8Array>): void => {
  let length = BLOCK_BYTES
  try {
    for (let i = 0; i < BLOCK_BYTES; i++) {
      const byte = key[i] ?? 0
      inner[i] = byte ^ INNER_PAD
      outer[i] = byte ^ OUTER_PAD
    }
    for (const part of message) {
      inner.set(part, length)
      length += part.length
    }
    hash(innerHash, inner.subarray(0, length))
    hash(mac, outer)
  } finally {
    inner.fill(0, 0, length)
    outer.fill(0)
  }
}

const byNode = (mac: Bytes, key: Uint8Array, message: ReadonlyArray<Uint8Array>): void => {
  const hmac = createHmac("sha256", key)
  for (const part of message) hmac.update(part)
  const digest = hmac.digest()
  mac.set(digest)
  digest.fill(0)
}

/**
 * Writes the MAC of the concatenated parts of `message` into `mac`. An object of Node's library, with what it costs to be made
 * and to be collected, takes three times as long in a busy process, so it is left for what is long, and for where there is no
 * libsodium.
 */
export const hmacSha256 = (mac: Bytes, key: Uint8Array, ...message: ReadonlyArray<Uint8Array>): void => {
  let length = 0
  for (const part of message) length += part.length
  if (sodium === undefined || key.length > BLOCK_BYTES || length > SHORT) byNode(mac, key, message)
  else byHash(sodium.crypto_hash_sha256, mac, key, message)
}
