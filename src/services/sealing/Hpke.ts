/**
 * The recipient side of HPKE (RFC 9180, mode base). The key schedule is `@hpke/core`'s; plugged into it are a KEM whose
 * private keys stay in the vault, and a KDF and an AEAD on Node's native primitives that overwrite what they derived.
 */
import { createDecipheriv, createHmac } from "node:crypto"
import {
  type AeadInterface,
  CipherSuite,
  type KdfInterface,
  type KemInterface,
  NotSupportedError,
  type RecipientContextParams,
} from "@hpke/core"
import { type Bytes, concat, u64, utf8 } from "../../domain/bytes.ts"
import { ENC_BYTES, EXPORT_BYTES, KEY_BYTES, NONCE_BYTES, SUITE, TAG_BYTES } from "../../domain/transcript.ts"
import type { AgreementKey } from "./KeyStorage.ts"
import { secretBytes } from "./secretBytes.ts"

const HASH_BYTES = 32
const EMPTY = new Uint8Array(0)

/** HPKE labels and suite ids (RFC 9180 §4). */
const VERSION_LABEL = utf8("HPKE-v1")
const KEM_SUITE_ID = concat(utf8("KEM"), u64(SUITE.kem).subarray(6))
const EAE_PRK = utf8("eae_prk")
const SHARED_SECRET = utf8("shared_secret")

type BufferLike = ArrayBufferLike | ArrayBufferView

const view = (input: BufferLike): Uint8Array =>
  ArrayBuffer.isView(input) ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength) : new Uint8Array(input)

/** HKDF-SHA256 (RFC 5869) with HPKE's labels. It remembers every output, so that they can all be overwritten. */
class NativeKdf implements KdfInterface {
  readonly id = SUITE.kdf
  readonly hashSize = HASH_BYTES
  private suiteId: Uint8Array
  private readonly outputs: Array<Uint8Array>

  constructor(suiteId: Uint8Array = EMPTY, outputs: Array<Uint8Array> = []) {
    this.suiteId = suiteId
    this.outputs = outputs
  }

  /** The same KDF for another suite id; its outputs are overwritten together with this one's. */
  forSuite(suiteId: Uint8Array): NativeKdf {
    return new NativeKdf(suiteId, this.outputs)
  }

  /** Overwrites every secret derived so far. */
  wipe(): void {
    for (const output of this.outputs) output.fill(0)
    this.outputs.length = 0
  }

  init(suiteId: Uint8Array): void {
    this.suiteId = suiteId
  }

  buildLabeledIkm(label: Uint8Array, ikm: Uint8Array): Uint8Array {
    const prefix = concat(VERSION_LABEL, this.suiteId, label)
    const labeled = secretBytes(prefix.length + ikm.length)
    labeled.set(prefix)
    labeled.set(ikm, prefix.length)
    return this.remember(labeled)
  }

  buildLabeledInfo(label: Uint8Array, info: Uint8Array, length: number): Uint8Array {
    return concat(Uint8Array.of(length >> 8, length & 0xff), VERSION_LABEL, this.suiteId, label, info)
  }

  extractSync(salt: Uint8Array, ikm: Uint8Array): Bytes {
    const key = salt.length === 0 ? new Uint8Array(HASH_BYTES) : salt
    return this.remember(new Uint8Array(exactBuffer(createHmac("sha256", key).update(ikm).digest())))
  }

  expandSync(prk: Uint8Array, info: Uint8Array, length: number): Bytes {
    if (length > HASH_BYTES) throw new RangeError("nothing of this suite is longer than one block of HKDF")
    const output = secretBytes(length)
    const block = createHmac("sha256", prk).update(info).update(Uint8Array.of(1)).digest()
    output.set(block.subarray(0, length))
    block.fill(0)
    return this.remember(output)
  }

  async extract(salt: BufferLike, ikm: BufferLike): Promise<ArrayBuffer> {
    return this.extractSync(view(salt), view(ikm)).buffer
  }

  async expand(prk: BufferLike, info: BufferLike, length: number): Promise<ArrayBuffer> {
    return this.expandSync(view(prk), view(info), length).buffer
  }

  async extractAndExpand(salt: BufferLike, ikm: BufferLike, info: BufferLike, length: number): Promise<ArrayBuffer> {
    return this.expandSync(this.extractSync(view(salt), view(ikm)), view(info), length).buffer
  }

  async labeledExtract(salt: BufferLike, label: Uint8Array, ikm: Uint8Array): Promise<ArrayBuffer> {
    return this.extractSync(view(salt), this.buildLabeledIkm(label, ikm)).buffer
  }

  async labeledExpand(prk: BufferLike, label: Uint8Array, info: Uint8Array, length: number): Promise<ArrayBuffer> {
    return this.expandSync(view(prk), this.buildLabeledInfo(label, info, length), length).buffer
  }

  private remember<Output extends Uint8Array>(output: Output): Output {
    this.outputs.push(output)
    return output
  }
}

const refuse = async (): Promise<never> => {
  throw new NotSupportedError("this side only decapsulates with keys of the vault")
}

/** DHKEM(X25519, HKDF-SHA256) over one key of the vault (RFC 9180 §4.1). It decapsulates and does nothing else. */
class VaultKem implements KemInterface {
  readonly id = SUITE.kem
  readonly secretSize = KEY_BYTES
  readonly encSize = ENC_BYTES
  readonly publicKeySize = KEY_BYTES
  readonly privateKeySize = KEY_BYTES
  readonly serializePublicKey = refuse
  readonly deserializePublicKey = refuse
  readonly serializePrivateKey = refuse
  readonly deserializePrivateKey = refuse
  readonly importKey = refuse
  readonly generateKeyPair = refuse
  readonly deriveKeyPair = refuse
  readonly encap = refuse
  private readonly key: AgreementKey
  private readonly kdf: NativeKdf

  constructor(key: AgreementKey, kdf: NativeKdf) {
    this.key = key
    this.kdf = kdf
  }

  async decap(params: RecipientContextParams): Promise<ArrayBuffer> {
    const enc = new Uint8Array(view(params.enc))
    const shared = this.key.agree(enc)
    const prk = this.kdf.extractSync(EMPTY, this.kdf.buildLabeledIkm(EAE_PRK, shared))
    const info = this.kdf.buildLabeledInfo(SHARED_SECRET, concat(enc, this.key.publicKey), KEY_BYTES)
    shared.fill(0)
    return this.kdf.expandSync(prk, info, KEY_BYTES).buffer
  }
}

/** AES-256-GCM by OpenSSL. It opens and does nothing else. */
const nativeAead: AeadInterface = {
  id: SUITE.aead,
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

/** The buffer behind `bytes`, copied only when it holds more than them. */
const exactBuffer = (bytes: Buffer<ArrayBuffer>): ArrayBuffer => {
  if (bytes.byteLength === bytes.buffer.byteLength) return bytes.buffer
  const copy = secretBytes(bytes.length)
  copy.set(bytes)
  bytes.fill(0)
  return copy.buffer
}

export interface OpenInput {
  readonly key: AgreementKey
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
  const kem = new VaultKem(input.key, kdf.forSuite(KEM_SUITE_ID))
  try {
    const suite = new CipherSuite({ kem, kdf, aead: nativeAead })
    const context = await suite.createRecipientContext({
      // The suite hands this to the KEM untouched, and ours holds its key already.
      recipientKey: input.key as unknown as CryptoKey,
      enc: input.enc,
      info: input.info,
    })
    const exported = new Uint8Array(await context.export(input.exportContext, EXPORT_BYTES))
    // Last of what can fail, because nobody would overwrite the plaintext then.
    const plaintext = new Uint8Array(await context.open(input.ciphertext, input.aad))
    // What was exported is one of the KDF's outputs, which are about to be overwritten.
    const secret = secretBytes(EXPORT_BYTES)
    secret.set(exported)
    return { plaintext, secret }
  } finally {
    kdf.wipe()
  }
}
