/** The sender's half of X-Wing (draft-connolly-cfrg-xwing-kem-08) on the primitives of Node's crypto library. */
import { type Bytes, concat, decodeBase64Url } from "../../domain/bytes/bytes.ts"
import { ML_KEM_768, X_WING_LABEL } from "../../domain/protocol/suites.ts"
import { type NodeCrypto, type NodeKey, SPKI_PREFIX } from "./nodeCrypto.ts"
import type { SenderKem } from "./SenderKem.ts"

/** A recipient's key, imported into Node's crypto. */
interface RecipientKey {
  readonly mlKem: NodeKey
  readonly x25519: NodeKey
  /** The raw bytes of `x25519`. */
  readonly keyX: Bytes
}

export const nativeXWing = (crypto: NodeCrypto): SenderKem => {
  const publicKeyOf = (prefix: Bytes, key: Bytes) =>
    crypto.createPublicKey({ key: concat(prefix, key), format: "der", type: "spki" })
  return {
    deserializePublicKey: async (key) => {
      const bytes = concat(key)
      const [keyM, keyX] = [bytes.subarray(0, ML_KEM_768.publicKeyBytes), bytes.subarray(ML_KEM_768.publicKeyBytes)]
      const recipient: RecipientKey = {
        mlKem: publicKeyOf(SPKI_PREFIX.mlKem, keyM),
        x25519: publicKeyOf(SPKI_PREFIX.x25519, keyX),
        keyX,
      }
      // Only `encap` below receives this key.
      return recipient as unknown as CryptoKey
    },
    encap: async ({ recipientPublicKey }) => {
      const { keyX, mlKem, x25519 } = recipientPublicKey as unknown as RecipientKey
      const { ciphertext, sharedKey } = crypto.encapsulate(mlKem)
      const ephemeral = crypto.generateKeyPairSync("x25519")
      const sharedX = crypto.diffieHellman({ privateKey: ephemeral.privateKey, publicKey: x25519 })
      // Exporting DER would take half as long as the key agreement.
      const encX = decodeBase64Url(ephemeral.publicKey.export({ format: "jwk" }).x)
      if (encX === undefined) throw new TypeError("Node exported the key in another form than requested.")
      const sharedSecret = crypto.hash("sha3-256", concat(sharedKey, sharedX, encX, keyX, X_WING_LABEL), "buffer")
      return { sharedSecret: new Uint8Array(sharedSecret).buffer, enc: concat(ciphertext, encX).buffer }
    },
  }
}
