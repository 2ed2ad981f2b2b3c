/** Key storage in ordinary buffers: one for each key, overwritten when the key is destroyed. */
import { createPublicKey, diffieHellman, randomFillSync, sign } from "node:crypto"
import { type Bytes, concat } from "../../domain/bytes/bytes.ts"
import { ML_KEM_768 } from "../../domain/protocol/suites.ts"
import type { AgreementKey, HybridKey, KeyStorage, SigningKey } from "./KeyStorage.ts"
import { mlKemDecapsulate, mlKemPublicKey, publicKeyOf, withPrivateKey } from "./nativeKeys.ts"
import { secretBytes } from "./secretBytes.ts"

/** RFC 8410 §4: SubjectPublicKeyInfo of X25519 is a fixed prefix and the 32 raw bytes. */
const SPKI_X25519_PREFIX = "302a300506032b656e032100"
const KEY_BYTES = 32

/** X25519 (RFC 7748) of a private key and `peer`. */
const agree = (secret: Bytes, peer: Bytes): Bytes => {
  const spki = Buffer.concat([Buffer.from(SPKI_X25519_PREFIX, "hex"), peer])
  const publicKey = createPublicKey({ key: spki, format: "der", type: "spki" })
  const { buffer, byteLength, byteOffset } = withPrivateKey("x25519", secret, (privateKey) =>
    diffieHellman({ privateKey, publicKey }),
  )
  // A view, so that overwriting the result overwrites the only copy.
  return new Uint8Array(buffer, byteOffset, byteLength)
}

const x25519PublicKey = (secret: Bytes): Bytes => withPrivateKey("x25519", secret, (key) => publicKeyOf(key, KEY_BYTES))

export const plainStorage = (): KeyStorage => {
  const held = new Set<Bytes>()
  let wiped = false

  /** Holds a copy of `given`, which is overwritten, or random bytes. */
  const hold = (length: number, given: Bytes | undefined) => {
    if (wiped) throw new Error("a key was asked for after all were wiped")
    const secret = secretBytes(length)
    if (given === undefined) randomFillSync(secret)
    else {
      secret.set(given)
      given.fill(0)
    }
    held.add(secret)
    return {
      read: () => {
        if (!held.has(secret)) throw new Error("the key was destroyed")
        return secret
      },
      destroy: () => {
        secret.fill(0)
        held.delete(secret)
      },
    }
  }

  return {
    kind: "plain",
    agreementKey: (given): AgreementKey => {
      const { destroy, read } = hold(KEY_BYTES, given)
      return {
        publicKey: x25519PublicKey(read()),
        agree: (peer) => agree(read(), peer),
        destroy,
      }
    },
    hybridKey: (given): HybridKey => {
      const { destroy, read } = hold(ML_KEM_768.seedBytes + KEY_BYTES, given)
      const seed = () => read().subarray(0, ML_KEM_768.seedBytes)
      const secret = () => read().subarray(ML_KEM_768.seedBytes)
      const publicX = x25519PublicKey(secret())
      return {
        get publicKey() {
          return concat(mlKemPublicKey(seed()), publicX)
        },
        x25519PublicKey: publicX,
        decapsulate: (enc) => ({
          x25519: agree(secret(), enc.subarray(ML_KEM_768.ciphertextBytes)),
          mlKem: mlKemDecapsulate(seed(), enc.subarray(0, ML_KEM_768.ciphertextBytes)),
        }),
        destroy,
      }
    },
    signingKey: (seed): SigningKey => {
      const { destroy, read } = hold(KEY_BYTES, seed)
      return {
        publicKey: withPrivateKey("ed25519", read(), (key) => publicKeyOf(key, KEY_BYTES)),
        sign: (message) => withPrivateKey("ed25519", read(), (key) => new Uint8Array(sign(null, message, key))),
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
