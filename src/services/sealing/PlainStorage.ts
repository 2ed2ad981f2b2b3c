/**
 * Key storage in ordinary buffers, for systems without guarded memory. The product's own copy of a key is one buffer,
 * overwritten when the key is destroyed. Each use hands a copy to Node's crypto library, which frees (and cleanses)
 * it when its key object is collected as garbage, at a time of the runtime's choosing.
 */
import { createPrivateKey, createPublicKey, diffieHellman, type KeyObject, randomFillSync, sign } from "node:crypto"
import type { Bytes } from "../../domain/bytes.ts"
import type { AgreementKey, KeyStorage, SigningKey } from "./KeyStorage.ts"
import { secretBytes } from "./secretBytes.ts"

// RFC 8410 §7: PKCS #8 and SubjectPublicKeyInfo of these curves are a fixed prefix and the 32 raw bytes.
const PKCS8_PREFIX = { x25519: "302e020100300506032b656e04220420", ed25519: "302e020100300506032b657004220420" }
const SPKI_X25519_PREFIX = "302a300506032b656e032100"
const KEY_BYTES = 32

/** Runs `use` with the key as Node's crypto wants it, and overwrites the encoding made for that. */
const withPrivateKey = <A>(curve: keyof typeof PKCS8_PREFIX, secret: Bytes, use: (key: KeyObject) => A): A => {
  const der = Buffer.from(secretBytes(48).buffer)
  der.write(PKCS8_PREFIX[curve], "hex")
  der.set(secret, 16)
  try {
    return use(createPrivateKey({ key: der, format: "der", type: "pkcs8" }))
  } finally {
    der.fill(0)
  }
}

const publicKeyOf = (key: KeyObject): Bytes =>
  new Uint8Array(createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-KEY_BYTES))

export const plainStorage = (): KeyStorage => {
  const held = new Set<Bytes>()

  const hold = (fill: (secret: Bytes) => void) => {
    const secret = secretBytes(KEY_BYTES)
    fill(secret)
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
      const { destroy, read } = hold((secret) => {
        if (given === undefined) return void randomFillSync(secret)
        secret.set(given)
        given.fill(0)
      })
      return {
        publicKey: withPrivateKey("x25519", read(), publicKeyOf),
        agree: (peer) => {
          const spki = Buffer.concat([Buffer.from(SPKI_X25519_PREFIX, "hex"), peer])
          const publicKey = createPublicKey({ key: spki, format: "der", type: "spki" })
          const { buffer, byteLength, byteOffset } = withPrivateKey("x25519", read(), (privateKey) =>
            diffieHellman({ privateKey, publicKey }),
          )
          // No copy: whoever overwrites what is returned overwrites the secret itself.
          return new Uint8Array(buffer, byteOffset, byteLength)
        },
        destroy,
      }
    },
    signingKey: (seed): SigningKey => {
      const { destroy, read } = hold((secret) => {
        secret.set(seed)
        seed.fill(0)
      })
      return {
        publicKey: withPrivateKey("ed25519", read(), publicKeyOf),
        sign: (message) => withPrivateKey("ed25519", read(), (key) => new Uint8Array(sign(null, message, key))),
        destroy,
      }
    },
    wipe: () => {
      for (const secret of held) secret.fill(0)
      held.clear()
    },
  }
}
