/** Node's crypto library, if this is Node. Its calls return at once; WebCrypto's wait for another thread. */
import { type Bytes, concat } from "../../domain/bytes/bytes.ts"
import { ML_KEM_768 } from "../../domain/protocol/suites.ts"
import { builtinModule } from "../transport/builtinModule.ts"

export interface NodeKey {
  readonly export: (options: { format: "jwk" }) => { readonly x: string }
}

interface Digest {
  readonly update: (data: Uint8Array) => Digest
  readonly digest: () => Bytes
}

interface Cipher {
  readonly setAAD: (aad: Uint8Array) => unknown
  readonly update: (data: Uint8Array) => Bytes
  readonly final: () => Bytes
}

type MakeCipher<Made> = (
  name: "aes-256-gcm",
  key: Uint8Array,
  nonce: Uint8Array,
  options: { authTagLength: number },
) => Made

/** The used functions of Node's crypto. Their types are missing in browsers. */
export interface NodeCrypto {
  readonly createPublicKey: (options: { key: Bytes; format: "der"; type: "spki" }) => NodeKey
  readonly encapsulate: (key: NodeKey) => { readonly sharedKey: Bytes; readonly ciphertext: Bytes }
  readonly generateKeyPairSync: (type: "x25519") => { readonly privateKey: NodeKey; readonly publicKey: NodeKey }
  readonly diffieHellman: (keys: { privateKey: NodeKey; publicKey: NodeKey }) => Bytes
  readonly hash: (name: "sha256" | "sha3-256", data: Uint8Array, as: "buffer") => Bytes
  readonly createHmac: (name: "sha256", key: Uint8Array) => Digest
  readonly createCipheriv: MakeCipher<Cipher & { readonly getAuthTag: () => Bytes }>
  readonly createDecipheriv: MakeCipher<Cipher & { readonly setAuthTag: (tag: Uint8Array) => unknown }>
  readonly verify: (digest: null, message: Uint8Array, key: NodeKey, signature: Uint8Array) => boolean
}

const bytesOf = (base64: string): Bytes => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))

/** SubjectPublicKeyInfo is a fixed prefix and the raw bytes (RFC 8410 §4, RFC 9935 §4). */
export const SPKI_PREFIX = {
  mlKem: bytesOf("MIIEsjALBglghkgBZQMEBAIDggShAA=="),
  x25519: bytesOf("MCowBQYDK2VuAyEA"),
  ed25519: bytesOf("MCowBQYDK2VwAyEA"),
}

/** Tries X-Wing's parts, because Node may be linked with a library that lacks some, such as OpenSSL before 3.5. */
const hasXWing = (crypto: NodeCrypto): boolean => {
  try {
    const key = concat(SPKI_PREFIX.mlKem, new Uint8Array(ML_KEM_768.publicKeyBytes))
    const { sharedKey } = crypto.encapsulate(crypto.createPublicKey({ key, format: "der", type: "spki" }))
    crypto.hash("sha3-256", sharedKey, "buffer")
    return true
  } catch {
    return false
  }
}

/** Returns Node's crypto module if this is Node and supports X-Wing. */
export const nodeCrypto = (): NodeCrypto | undefined => {
  // Elsewhere there is no such module, and in older versions no `encapsulate`.
  const crypto = builtinModule("node:crypto") as NodeCrypto
  return hasXWing(crypto) ? crypto : undefined
}
