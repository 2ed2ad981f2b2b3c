/** Key storage in ordinary buffers: one for each key, overwritten when the key is destroyed. */
import { createPublicKey, diffieHellman, randomFillSync, sign } from "node:crypto"
import type { Bytes } from "../../domain/bytes/bytes.ts"
import type { HeldSecret, KeyStorage } from "./KeyStorage.ts"
import { publicKeyOf, withPrivateKey } from "./nativeKeys.ts"
import { secretBytes } from "./secretBytes.ts"

/** RFC 8410 §4: SubjectPublicKeyInfo of X25519 is a fixed prefix and the 32 raw bytes. */
const SPKI_X25519_PREFIX = "302a300506032b656e032100"
const KEY_BYTES = 32

const x25519 = (secret: Bytes, peer: Bytes): Bytes => {
  const spki = Buffer.concat([Buffer.from(SPKI_X25519_PREFIX, "hex"), peer])
  const publicKey = createPublicKey({ key: spki, format: "der", type: "spki" })
  const { buffer, byteLength, byteOffset } = withPrivateKey("x25519", secret, (privateKey) =>
    diffieHellman({ privateKey, publicKey }),
  )
  // Returns a view, so that overwriting the result overwrites the only copy.
  return new Uint8Array(buffer, byteOffset, byteLength)
}

export const plainStorage = (): KeyStorage => {
  const held = new Set<Bytes>()
  let wiped = false

  const hold = (length: number, given?: Bytes): HeldSecret => {
    if (wiped) throw new Error("a key was asked for after all were wiped")
    const secret = secretBytes(length)
    if (given === undefined) randomFillSync(secret)
    else {
      secret.set(given)
      given.fill(0)
    }
    held.add(secret)
    return {
      read: (use) => {
        if (!held.has(secret)) throw new Error("the key was destroyed")
        return use(secret)
      },
      destroy: () => {
        secret.fill(0)
        held.delete(secret)
      },
    }
  }

  return {
    kind: "plain",
    hold,
    x25519PublicKey: (secret) => withPrivateKey("x25519", secret, (key) => publicKeyOf(key, KEY_BYTES)),
    x25519,
    signingKey: (seed) => {
      const { destroy, read } = hold(KEY_BYTES, seed)
      const withKey = <A>(use: Parameters<typeof withPrivateKey<A>>[2]): A =>
        read((secret) => withPrivateKey("ed25519", secret, use))
      return {
        publicKey: withKey((key) => publicKeyOf(key, KEY_BYTES)),
        sign: (message) => withKey((key) => new Uint8Array(sign(null, message, key))),
        destroy,
      }
    },
    wipe: () => {
      wiped = true
      for (const secret of held) secret.fill(0)
      held.clear()
    },
  }
}
