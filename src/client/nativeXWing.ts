/** The sender's half of X-Wing (draft-connolly-cfrg-xwing-kem-08) on the primitives of Node's crypto library. */
import { type KemInterface, NotSupportedError } from "@hpke/core"
import { type Bytes, concat } from "../domain/bytes.ts"
import { ML_KEM_768, X_WING } from "../domain/suites.ts"

type NodeKey = { readonly export: (options: { format: "der"; type: "spki" }) => Bytes }

/** The few functions used of `node:crypto`, whose types browsers do not have. */
export interface NodeCrypto {
  readonly createPublicKey: (options: { key: Bytes; format: "der"; type: "spki" }) => NodeKey
  readonly encapsulate: (key: NodeKey) => { readonly sharedKey: Bytes; readonly ciphertext: Bytes }
  readonly generateKeyPairSync: (type: "x25519") => { readonly privateKey: NodeKey; readonly publicKey: NodeKey }
  readonly diffieHellman: (keys: { privateKey: NodeKey; publicKey: NodeKey }) => Bytes
  readonly createHash: (name: "sha3-256") => { readonly update: (data: Bytes) => { readonly digest: () => Bytes } }
}

/** SubjectPublicKeyInfo is a fixed prefix and the raw bytes (RFC 8410 §4, RFC 9935 §4). */
const SPKI_PREFIX = {
  mlKem: Uint8Array.from(atob("MIIEsjALBglghkgBZQMEBAIDggShAA=="), (char) => char.charCodeAt(0)),
  x25519: Uint8Array.from(atob("MCowBQYDK2VuAyEA"), (char) => char.charCodeAt(0)),
}
const LABEL = new Uint8Array([0x5c, 0x2e, 0x2f, 0x2f, 0x5e, 0x5c])
const SECRET_BYTES = 32

const refuse = async (): Promise<never> => {
  throw new NotSupportedError("this side only encapsulates")
}

export const nativeXWing = (crypto: NodeCrypto): KemInterface => {
  const publicKeyOf = (prefix: Bytes, key: Bytes) =>
    crypto.createPublicKey({ key: concat(prefix, key), format: "der", type: "spki" })
  return {
    id: X_WING.id.kem,
    secretSize: SECRET_BYTES,
    encSize: X_WING.encBytes,
    publicKeySize: X_WING.publicKeyBytes,
    privateKeySize: SECRET_BYTES,
    serializePublicKey: refuse,
    serializePrivateKey: refuse,
    deserializePrivateKey: refuse,
    importKey: refuse,
    generateKeyPair: refuse,
    deriveKeyPair: refuse,
    decap: refuse,
    // Only `encap` below is given what this returns.
    deserializePublicKey: async (key) =>
      new Uint8Array(ArrayBuffer.isView(key) ? key.buffer : key) as unknown as CryptoKey,
    encap: async ({ recipientPublicKey }) => {
      const key = recipientPublicKey as unknown as Bytes
      const keyX = key.subarray(ML_KEM_768.publicKeyBytes)
      const { ciphertext, sharedKey } = crypto.encapsulate(
        publicKeyOf(SPKI_PREFIX.mlKem, key.subarray(0, ML_KEM_768.publicKeyBytes)),
      )
      const ephemeral = crypto.generateKeyPairSync("x25519")
      const sharedX = crypto.diffieHellman({
        privateKey: ephemeral.privateKey,
        publicKey: publicKeyOf(SPKI_PREFIX.x25519, keyX),
      })
      const encX = ephemeral.publicKey.export({ format: "der", type: "spki" }).subarray(-keyX.length)
      const sharedSecret = crypto
        .createHash("sha3-256")
        .update(concat(sharedKey, sharedX, encX, keyX, LABEL))
        .digest()
      return { sharedSecret: new Uint8Array(sharedSecret).buffer, enc: concat(ciphertext, encX).buffer }
    },
  }
}
