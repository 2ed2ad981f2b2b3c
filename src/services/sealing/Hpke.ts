/**
 * The recipient side of HPKE (RFC 9180, mode base, HKDF-SHA256, AES-256-GCM) on Node's own primitives, with a KEM whose private
 * keys stay in the vault. It is synchronous: nothing else of the process runs between a check before it and a claim after it,
 * and no call waits for another thread. Everything that it derives is overwritten.
 */
import { createDecipheriv } from "node:crypto"
import { type Bytes, concat } from "../../domain/bytes/bytes.ts"
import { HPKE_LABELS, hpkeSuiteId, MODE_BASE } from "../../domain/protocol/hpke.ts"
import { SUITES } from "../../domain/protocol/suites.ts"
import { EXPORT_BYTES, KEY_BYTES, NONCE_BYTES, TAG_BYTES } from "../../domain/protocol/transcript.ts"
import { LabeledKdf } from "./LabeledKdf.ts"
import type { RecipientKey } from "./recipientKeys.ts"
import { exactBuffer, secretBytes } from "./secretBytes.ts"
import { HASH_BYTES } from "./sha256.ts"

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

/** What of the key schedule is the same for every message of a suite. Mode base has no pre-shared key: its hash is that of nothing. */
const CONSTANTS = new Map(
  SUITES.map((suite) => {
    const suiteId = hpkeSuiteId(suite.id)
    return [
      suite,
      { suiteId, pskIdHash: new LabeledKdf(suiteId).extract(EMPTY, HPKE_LABELS.pskIdHash, EMPTY) },
    ] as const
  }),
)

/** `Open` of AES-256-GCM. What it decrypted before the tag turned out to be wrong is overwritten. */
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
 * Opens the one message of an HPKE context and exports one secret from it (RFC 9180 §5.1 to §5.3). Throws when anything
 * is wrong. Every key of the schedule is overwritten before it returns, however it ends; the two outputs belong to the
 * caller.
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
    // This comes after everything else that can fail, because nobody would overwrite the plaintext after a failure.
    const plaintext = openGcm(
      kdf.expand(secret, HPKE_LABELS.key, context, KEY_BYTES),
      // The only message of its context, so the sequence number that is mixed in is 0.
      kdf.expand(secret, HPKE_LABELS.baseNonce, context, NONCE_BYTES),
      aad,
      ciphertext,
    )
    // The exported secret is copied, because it is one of the KDF's outputs, which are about to be overwritten.
    const copy = secretBytes(EXPORT_BYTES)
    copy.set(exported)
    return { plaintext, secret: copy }
  } finally {
    kdf.wipe()
  }
}
