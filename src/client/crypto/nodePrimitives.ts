/** The client's cryptography on Node's own library. */
import { type Bytes, concat } from "../../domain/bytes/bytes.ts"
import { TAG_BYTES } from "../../domain/protocol/transcript.ts"
import type { NodeCrypto } from "./nodeCrypto.ts"
import type { Primitives } from "./webPrimitives.ts"

/** Copies bytes, because Node may return a view of a shared buffer. */
const own = (bytes: Uint8Array): Bytes => new Uint8Array(bytes)

const OPTIONS = { authTagLength: TAG_BYTES }

export const nodePrimitives = (crypto: NodeCrypto): Primitives => ({
  sha256: (data) => own(crypto.hash("sha256", data, "buffer")),
  mac: (key) => (length, parts) => {
    const mac = crypto.createHmac("sha256", key)
    for (const part of parts) mac.update(part)
    return own(mac.digest().subarray(0, length))
  },
  seal: (key, nonce, aad, plaintext) => {
    const cipher = crypto.createCipheriv("aes-256-gcm", key, nonce, OPTIONS)
    cipher.setAAD(aad)
    const body = cipher.update(plaintext)
    cipher.final()
    return concat(body, cipher.getAuthTag())
  },
  opener: (key) => (nonce, aad, ciphertext) => {
    if (ciphertext.length < TAG_BYTES) return undefined
    const cipher = crypto.createDecipheriv("aes-256-gcm", key, nonce, OPTIONS)
    cipher.setAAD(aad)
    cipher.setAuthTag(ciphertext.subarray(-TAG_BYTES))
    const plaintext = own(cipher.update(ciphertext.subarray(0, -TAG_BYTES)))
    try {
      cipher.final()
    } catch {
      return undefined
    }
    return plaintext
  },
})
