/**
 * The recipient side of HPKE (RFC 9180, mode base). The key schedule is `@hpke/core`'s; plugged into it are a KEM whose
 * private keys stay in the vault, and a KDF and an AEAD on Node's native primitives that overwrite what they derived.
 */
import { createDecipheriv } from "node:crypto"
import {
  type AeadInterface,
  CipherSuite,
  DeserializeError,
  type KemInterface,
  NotSupportedError,
  type RecipientContextParams,
} from "@hpke/core"
import type { Bytes } from "../../domain/bytes.ts"
import { AEAD_ID } from "../../domain/suites.ts"
import { EXPORT_BYTES, KEY_BYTES, NONCE_BYTES, TAG_BYTES } from "../../domain/transcript.ts"
import { NativeKdf, view } from "./NativeKdf.ts"
import type { RecipientKey } from "./recipientKeys.ts"
import { exactBuffer, secretBytes } from "./secretBytes.ts"

const refuse = async (): Promise<never> => {
  throw new NotSupportedError("this side only decapsulates with keys of the vault")
}

/** The KEM of one key of the vault. It decapsulates and does nothing else. */
class VaultKem implements KemInterface {
  readonly id: KemInterface["id"]
  readonly secretSize = KEY_BYTES
  readonly encSize: number
  readonly publicKeySize: number
  readonly privateKeySize = KEY_BYTES
  readonly serializePublicKey = refuse
  readonly deserializePublicKey = refuse
  readonly serializePrivateKey = refuse
  readonly deserializePrivateKey = refuse
  readonly importKey = refuse
  readonly generateKeyPair = refuse
  readonly deriveKeyPair = refuse
  readonly encap = refuse
  private readonly key: RecipientKey
  private readonly kdf: NativeKdf

  constructor(key: RecipientKey, kdf: NativeKdf) {
    const { encBytes, id, publicKeyBytes } = key.suite
    this.id = id.kem
    this.encSize = encBytes
    this.publicKeySize = publicKeyBytes
    this.key = key
    this.kdf = kdf
  }

  async decap(params: RecipientContextParams): Promise<ArrayBuffer> {
    const enc = new Uint8Array(view(params.enc))
    const { encBytes, isSoundEnc } = this.key.suite
    if (enc.length !== encBytes || !isSoundEnc(enc)) throw new DeserializeError("no enc of this suite")
    return this.key.decapsulate(enc, this.kdf).buffer
  }
}

/** AES-256-GCM by OpenSSL. It opens and does nothing else. */
const nativeAead: AeadInterface = {
  id: AEAD_ID,
  keySize: KEY_BYTES,
  nonceSize: NONCE_BYTES,
  tagSize: TAG_BYTES,
  createEncryptionContext: (key) => ({
    seal: refuse,
    open: async (nonce, data, aad) => {
      const sealed = view(data)
      const decipher = createDecipheriv("aes-256-gcm", view(key), view(nonce), { authTagLength: TAG_BYTES })
      decipher.setAAD(view(aad))
      decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES))
      const plaintext = decipher.update(sealed.subarray(0, sealed.length - TAG_BYTES))
      try {
        decipher.final()
      } catch (error) {
        plaintext.fill(0)
        throw error
      }
      return exactBuffer(plaintext)
    },
  }),
}

export interface OpenInput {
  readonly key: RecipientKey
  readonly enc: Bytes
  readonly info: Bytes
  readonly aad: Bytes
  readonly ciphertext: Bytes
  readonly exportContext: Bytes
}

export interface OpenOutput {
  readonly plaintext: Bytes
  /** `Context.Export(exportContext, 32)`. */
  readonly secret: Bytes
}

/**
 * Opens the one message of an HPKE context and exports one secret from it (RFC 9180 §5.2, §5.3). Rejects when
 * anything is wrong. Every key of the schedule is overwritten before it returns, however it ends; the two outputs
 * belong to the caller.
 */
export const hpkeOpen = async (input: OpenInput): Promise<OpenOutput> => {
  const kdf = new NativeKdf()
  const kem = new VaultKem(input.key, kdf)
  try {
    const suite = new CipherSuite({ kem, kdf, aead: nativeAead })
    const context = await suite.createRecipientContext({
      // The suite hands this to the KEM untouched, and ours holds its key already.
      recipientKey: input.key as unknown as CryptoKey,
      enc: input.enc,
      info: input.info,
    })
    const exported = new Uint8Array(await context.export(input.exportContext, EXPORT_BYTES))
    // This comes after everything that can fail, because nobody would overwrite the plaintext after a failure.
    const plaintext = new Uint8Array(await context.open(input.ciphertext, input.aad))
    // The exported secret is copied, because it is one of the KDF's outputs, which are about to be overwritten.
    const secret = secretBytes(EXPORT_BYTES)
    secret.set(exported)
    return { plaintext, secret }
  } finally {
    kdf.wipe()
  }
}
