/**
 * The recipient side of HPKE (RFC 9180, mode base, HKDF-SHA256, AES-256-GCM) on Node's primitives, with private keys that
 * stay in the vault. It is synchronous, so that no other code runs between a check before it and a claim after it. Every
 * derived secret is overwritten.
 */
import { createDecipheriv } from "node:crypto"
import { type Bytes, concat } from "../../domain/bytes/bytes.ts"
import { HPKE_LABELS, hpkeSuiteId, MODE_BASE } from "../../domain/protocol/hpke.ts"
import { SUITES } from "../../domain/protocol/suites.ts"
import { EXPORT_BYTES, HASH_BYTES, KEY_BYTES, NONCE_BYTES, TAG_BYTES } from "../../domain/protocol/transcript.ts"
import { LabeledKdf } from "./LabeledKdf.ts"
import type { RecipientKey } from "./recipientKeys.ts"
import { exactBuffer, secretBytes } from "./secretBytes.ts"

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

const EMPTY = new Uint8Array(0)

/** The parts of the key schedule that are constant for a suite. Mode base has an empty pre-shared key id. */
const CONSTANTS = new Map(
  SUITES.map((suite) => {
    const suiteId = hpkeSuiteId(suite.id)
    return [
      suite,
      { suiteId, pskIdHash: new LabeledKdf(suiteId).extract(EMPTY, HPKE_LABELS.pskIdHash, EMPTY) },
    ] as const
  }),
)

/** `Open` of AES-256-GCM. If the tag is wrong, the decrypted bytes are overwritten. */
const openGcm = (key: Bytes, nonce: Bytes, aad: Bytes, sealed: Bytes): Bytes => {
  if (sealed.length < TAG_BYTES) throw new RangeError("the ciphertext is shorter than its tag")
  const end = sealed.length - TAG_BYTES
  const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(aad)
  decipher.setAuthTag(sealed.subarray(end))
  const plaintext = decipher.update(sealed.subarray(0, end))
  try {
    decipher.final()
  } catch (error) {
    plaintext.fill(0)
    throw error
  }
  return new Uint8Array(exactBuffer(plaintext))
}

/**
 * Opens the one message of an HPKE context and exports one secret (RFC 9180 §5.1 to §5.3). Throws if anything is wrong.
 * Every key of the schedule is overwritten before it returns or throws; the caller overwrites the two outputs.
 */
export const hpkeOpen = ({ aad, ciphertext, enc, exportContext, info, key }: OpenInput): OpenOutput => {
  const { encBytes, isSoundEnc } = key.suite
  const constants = CONSTANTS.get(key.suite)
  if (constants === undefined || enc.length !== encBytes || !isSoundEnc(enc)) {
    throw new RangeError("no enc of this suite")
  }
  const kdf = new LabeledKdf(constants.suiteId)
  try {
    const context = concat(MODE_BASE, constants.pskIdHash, kdf.extract(EMPTY, HPKE_LABELS.infoHash, info))
    const secret = kdf.extract(key.decapsulate(enc, kdf), HPKE_LABELS.secret, EMPTY)
    const exporter = kdf.expand(secret, HPKE_LABELS.exporter, context, HASH_BYTES)
    const exported = kdf.expand(exporter, HPKE_LABELS.export, exportContext, EXPORT_BYTES)
    // Last of the steps that can fail, so that no failure leaves the plaintext behind.
    const plaintext = openGcm(
      kdf.expand(secret, HPKE_LABELS.key, context, KEY_BYTES),
      // The only message of its context, so its sequence number is 0 and the nonce is the base nonce.
      kdf.expand(secret, HPKE_LABELS.baseNonce, context, NONCE_BYTES),
      aad,
      ciphertext,
    )
    // A copy, because the KDF's outputs are overwritten now.
    const copy = secretBytes(EXPORT_BYTES)
    copy.set(exported)
    return { plaintext, secret: copy }
  } finally {
    kdf.wipe()
  }
}
