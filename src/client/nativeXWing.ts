/** The sender's half of X-Wing (draft-connolly-cfrg-xwing-kem-08) on the primitives of Node's crypto library. */
import { type KemInterface, NotSupportedError } from "@hpke/core"
import { type Bytes, concat } from "../domain/bytes.ts"
import { ML_KEM_768, X_WING } from "../domain/suites.ts"
import { type NodeCrypto, SPKI_PREFIX } from "./nodeCrypto.ts"

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
