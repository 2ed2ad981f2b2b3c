/** The interface of the client's cryptography, and its WebCrypto implementation. */
import { type Bytes, joined } from "../../domain/bytes/bytes.ts"

/** Node's functions return at once, WebCrypto's return promises. */
export type Eventual<A> = A | Promise<A>

/** Returns the first `length` bytes of the HMAC-SHA256 of the concatenated `parts`. */
type Mac = (length: number, parts: Iterable<Uint8Array>) => Eventual<Bytes>

/** Returns the block inside a frame, or `undefined` if it does not authenticate. */
export type Opener = (nonce: Bytes, aad: Bytes, ciphertext: Bytes) => Eventual<Bytes | undefined>

/** Primitives for sealing and opening. */
export interface Primitives {
  readonly sha256: (data: Bytes) => Eventual<Bytes>
  readonly mac: (key: Bytes) => Eventual<Mac>
  /** Seals with AES-256-GCM, the tag at the end. */
  readonly seal: (key: Bytes, nonce: Bytes, aad: Bytes, plaintext: Bytes) => Eventual<Bytes>
  /** Opens with AES-256-GCM. */
  readonly opener: (key: Bytes) => Eventual<Opener>
}

const { subtle } = globalThis.crypto

export const webPrimitives: Primitives = {
  sha256: async (data) => new Uint8Array(await subtle.digest("SHA-256", data)),
  mac: async (key) => {
    const imported = await subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"])
    return async (length, parts) => new Uint8Array(await subtle.sign("HMAC", imported, joined([...parts])), 0, length)
  },
  seal: async (key, nonce, aad, plaintext) => {
    const imported = await subtle.importKey("raw", key, "AES-GCM", false, ["encrypt"])
    return new Uint8Array(
      await subtle.encrypt({ name: "AES-GCM", iv: nonce, additionalData: aad }, imported, plaintext),
    )
  },
  opener: async (key) => {
    const imported = await subtle.importKey("raw", key, "AES-GCM", false, ["decrypt"])
    return (nonce, aad, ciphertext) =>
      subtle.decrypt({ name: "AES-GCM", iv: nonce, additionalData: aad }, imported, ciphertext).then(
        (block) => new Uint8Array(block),
        () => undefined,
      )
  },
}
