/** The client's cryptography on Node's own library. */
import { Aes256Gcm, type AeadEncryptionContext, HkdfSha256 } from "@hpke/core"
import { type Bytes, concat } from "../domain/bytes.ts"
import { TAG_BYTES } from "../domain/transcript.ts"
import type { NodeCrypto } from "./nodeCrypto.ts"
import type { Primitives } from "./webPrimitives.ts"

type BufferLike = ArrayBufferLike | ArrayBufferView

const view = (input: BufferLike): Uint8Array =>
  ArrayBuffer.isView(input) ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength) : new Uint8Array(input)

/** A copy with a buffer of its own: what Node returns may lie in one that it shares. */
const own = (bytes: Uint8Array): Bytes => new Uint8Array(bytes)

const OPTIONS = { authTagLength: TAG_BYTES }

export const nodePrimitives = (crypto: NodeCrypto): Primitives => {
  const hmac = (key: Uint8Array, ...parts: ReadonlyArray<Uint8Array>): Bytes => {
    const mac = crypto.createHmac("sha256", key)
    for (const part of parts) mac.update(part)
    return own(mac.digest())
  }

  /** HKDF-Expand (RFC 5869 §2.3). */
  const expand = (prk: Uint8Array, info: Uint8Array, length: number): Bytes => {
    const blocks: Array<Bytes> = []
    for (let made = 0; made < length; made += blocks.at(-1)?.length ?? length) {
      blocks.push(hmac(prk, blocks.at(-1) ?? new Uint8Array(), info, Uint8Array.of(blocks.length + 1)))
    }
    return concat(...blocks).slice(0, length)
  }

  const seal = (key: Uint8Array, nonce: Uint8Array, aad: Uint8Array, plaintext: Uint8Array): Bytes => {
    const cipher = crypto.createCipheriv("aes-256-gcm", key, nonce, OPTIONS)
    cipher.setAAD(aad)
    const body = cipher.update(plaintext)
    cipher.final()
    return concat(body, cipher.getAuthTag())
  }

  /** Throws where it does not authenticate. */
  const open = (key: Uint8Array, nonce: Uint8Array, aad: Uint8Array, sealed: Uint8Array): Bytes => {
    const cipher = crypto.createDecipheriv("aes-256-gcm", key, nonce, OPTIONS)
    cipher.setAAD(aad)
    cipher.setAuthTag(sealed.subarray(-TAG_BYTES))
    const plaintext = own(cipher.update(sealed.subarray(0, -TAG_BYTES)))
    cipher.final()
    return plaintext
  }

  class NodeKdf extends HkdfSha256 {
    override async extract(salt: BufferLike, ikm: BufferLike): Promise<ArrayBuffer> {
      return hmac(view(salt), view(ikm)).buffer
    }
    override async expand(prk: BufferLike, info: BufferLike, length: number): Promise<ArrayBuffer> {
      return expand(view(prk), view(info), length).buffer
    }
    override async extractAndExpand(salt: BufferLike, ikm: BufferLike, info: BufferLike, length: number) {
      return expand(hmac(view(salt), view(ikm)), view(info), length).buffer
    }
  }

  class NodeAead extends Aes256Gcm {
    override createEncryptionContext(key: BufferLike): AeadEncryptionContext {
      const bytes = view(key)
      return {
        seal: async (nonce, data, aad) => seal(bytes, view(nonce), view(aad), view(data)).buffer,
        open: async (nonce, data, aad) => open(bytes, view(nonce), view(aad), view(data)).buffer,
      }
    }
  }

  return {
    kdf: () => new NodeKdf(),
    aead: () => new NodeAead(),
    sha256: (data) => own(crypto.createHash("sha256").update(data).digest()),
    hmac,
    hkdf: (secret, salt) => {
      const prk = hmac(salt, secret)
      return (info, length) => expand(prk, info, length)
    },
    opener: (key) => (nonce, aad, ciphertext) => {
      if (ciphertext.length < TAG_BYTES) return undefined
      try {
        return open(key, nonce, aad, ciphertext)
      } catch {
        return undefined
      }
    },
  }
}
