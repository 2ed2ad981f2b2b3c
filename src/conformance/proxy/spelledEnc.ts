/**
 * Seals a request with the top bit of `enc`'s X25519 part set. X25519 ignores that bit (RFC 7748 §5), so a server that does not
 * check it opens the request.
 */
import { createHash, createPublicKey, diffieHellman, encapsulate, generateKeyPairSync } from "node:crypto"
import { Aes256Gcm, CipherSuite, HkdfSha256, type KemInterface, NotSupportedError } from "@hpke/core"
import { type Bytes, concat, utf8 } from "../../domain/bytes/bytes.ts"
import { u16 } from "../../domain/protocol/hpke.ts"
import { ML_KEM_768, type Suite, X25519 } from "../../domain/protocol/suites.ts"
import { KEY_BYTES } from "../../domain/protocol/transcript.ts"
import { LabeledKdf } from "../../services/sealing/LabeledKdf.ts"

/** SubjectPublicKeyInfo is a fixed prefix and the raw bytes (RFC 8410 §4, RFC 9935 §4). */
const SPKI = { x25519: "302a300506032b656e032100", mlKem: "308204b2300b0609608648016503040402038204a100" }
const X_WING_LABEL = utf8("\\.//^\\")
const TOP_BIT = 0x80

const publicKey = (prefix: string, key: Bytes) =>
  createPublicKey({ key: Buffer.concat([Buffer.from(prefix, "hex"), key]), format: "der", type: "spki" })

/** Returns a new public key in that spelling, and the secret agreed with `peer`. */
const agree = (peer: Bytes) => {
  const pair = generateKeyPairSync("x25519")
  const spelled = new Uint8Array(pair.publicKey.export({ format: "der", type: "spki" }).subarray(-KEY_BYTES))
  spelled[KEY_BYTES - 1] = (spelled[KEY_BYTES - 1] ?? 0) | TOP_BIT
  return { spelled, agreed: diffieHellman({ privateKey: pair.privateKey, publicKey: publicKey(SPKI.x25519, peer) }) }
}

interface Encapsulated {
  readonly enc: Bytes
  readonly sharedSecret: Bytes
}

/** DHKEM (RFC 9180 §4.1). */
const dhkem = (recipient: Bytes): Encapsulated => {
  const { agreed, spelled } = agree(recipient)
  const kdf = new LabeledKdf(concat(utf8("KEM"), u16(X25519.id.kem)))
  const prk = kdf.extract(new Uint8Array(), utf8("eae_prk"), agreed)
  const sharedSecret = kdf.expand(prk, utf8("shared_secret"), concat(spelled, recipient), KEY_BYTES)
  return { enc: spelled, sharedSecret }
}

/** X-Wing (draft-connolly-cfrg-xwing-kem-08). */
const xWing = (recipient: Bytes): Encapsulated => {
  const { ciphertext, sharedKey } = encapsulate(publicKey(SPKI.mlKem, recipient.subarray(0, ML_KEM_768.publicKeyBytes)))
  const peer = recipient.subarray(ML_KEM_768.publicKeyBytes)
  const { agreed, spelled } = agree(peer)
  const shared = createHash("sha3-256")
    .update(concat(sharedKey, agreed, spelled, peer, X_WING_LABEL))
    .digest()
  return { enc: concat(ciphertext, spelled), sharedSecret: new Uint8Array(shared) }
}

const refuse = async (): Promise<never> => {
  throw new NotSupportedError("this side only encapsulates")
}

const kemOf = (suite: Suite, recipient: Bytes): KemInterface => ({
  id: suite.id.kem,
  secretSize: KEY_BYTES,
  encSize: suite.encBytes,
  publicKeySize: suite.publicKeyBytes,
  privateKeySize: KEY_BYTES,
  serializePublicKey: refuse,
  deserializePublicKey: refuse,
  serializePrivateKey: refuse,
  deserializePrivateKey: refuse,
  importKey: refuse,
  generateKeyPair: refuse,
  deriveKeyPair: refuse,
  decap: refuse,
  encap: async () => {
    const { enc, sharedSecret } = suite === X25519 ? dhkem(recipient) : xWing(recipient)
    return { enc: enc.slice().buffer, sharedSecret: sharedSecret.slice().buffer }
  },
})

export const sealSpelled = async (suite: Suite, recipient: Bytes, info: Bytes, aad: Bytes, block: Bytes) => {
  const hpke = new CipherSuite({ kem: kemOf(suite, recipient), kdf: new HkdfSha256(), aead: new Aes256Gcm() })
  // The suite passes this to the KEM unchanged, and this KEM already has its key.
  const context = await hpke.createSenderContext({ recipientPublicKey: recipient as unknown as CryptoKey, info })
  return { enc: new Uint8Array(context.enc), ciphertext: new Uint8Array(await context.seal(block, aad)) }
}
