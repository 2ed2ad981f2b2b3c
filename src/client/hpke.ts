/** The sender's side of HPKE (RFC 9180, mode base, HKDF-SHA256, AES-256-GCM) for one message. */
import type { KemInterface } from "@hpke/core"
import { type Bytes, concat } from "../domain/bytes.ts"
import { defined } from "../domain/defined.ts"
import { HPKE_LABELS, HPKE_VERSION, hpkeSuiteId, MODE_BASE, u16 } from "../domain/hpke.ts"
import type { Suite, SuiteName } from "../domain/suites.ts"
import { EXPORT_BYTES, KEY_BYTES, NONCE_BYTES, responseExportContext } from "../domain/transcript.ts"
import { loadKem } from "./kems.ts"
import { expand, hmac, sealGcm } from "./primitives.ts"

const EMPTY = new Uint8Array(0)
const HASH_BYTES = 32
/** What stands for no salt. */
const NO_SALT = new Uint8Array(HASH_BYTES)

const kems = new Map<SuiteName, Promise<KemInterface>>()

const kemOf = (suite: SuiteName): Promise<KemInterface> => {
  const known = kems.get(suite)
  if (known !== undefined) return known
  const loaded = loadKem(suite)
  kems.set(suite, loaded)
  // A module that failed to load may load the next time.
  loaded.catch(() => kems.delete(suite))
  return loaded
}

/** Keys of sessions as the platform takes them: each is read once, and goes with the bytes that it was read from. */
const recipients = new WeakMap<Bytes, Promise<CryptoKey>>()

const recipientOf = (kem: KemInterface, publicKey: Bytes): Promise<CryptoKey> => {
  const known = recipients.get(publicKey)
  if (known !== undefined) return known
  const read = kem.deserializePublicKey(publicKey)
  recipients.set(publicKey, read)
  return read
}

/** `LabeledExtract` and `LabeledExpand` (§4) of a suite. */
const labeledKdf = (suite: Suite) => {
  const prefix = concat(HPKE_VERSION, hpkeSuiteId(suite.id))
  return {
    extract: (salt: Bytes, label: Bytes, ikm: Bytes) => hmac(salt, prefix, label, ikm),
    expand: (prk: Bytes, label: Bytes, info: Bytes, length: number) =>
      expand(prk, length, u16(length), prefix, label, info),
  }
}

interface HpkeSealed {
  readonly enc: Bytes
  readonly ciphertext: Bytes
  /** The secret exported for the response. */
  readonly secret: Bytes
}

/**
 * Seals the one message of a fresh sender context and exports the response secret from it (§5.1 to §5.3).
 * `ephemeralSeed` fixes the ephemeral key, for published test vectors only.
 */
export const hpkeSeal = async (
  suite: Suite,
  recipient: Bytes,
  info: Bytes,
  aad: Bytes,
  plaintext: Bytes,
  ephemeralSeed?: Bytes,
): Promise<HpkeSealed> => {
  const kem = await kemOf(suite.name)
  const recipientPublicKey = await recipientOf(kem, recipient)
  const { enc, sharedSecret } = await kem.encap({ recipientPublicKey, ...defined({ ekm: ephemeralSeed }) })
  const kdf = labeledKdf(suite)
  const pskIdHash = await kdf.extract(NO_SALT, HPKE_LABELS.pskIdHash, EMPTY)
  const context = concat(MODE_BASE, pskIdHash, await kdf.extract(NO_SALT, HPKE_LABELS.infoHash, info))
  const secret = await kdf.extract(new Uint8Array(sharedSecret), HPKE_LABELS.secret, EMPTY)
  const key = await kdf.expand(secret, HPKE_LABELS.key, context, KEY_BYTES)
  // The only message of its context, so the sequence number that is mixed in is 0.
  const nonce = await kdf.expand(secret, HPKE_LABELS.baseNonce, context, NONCE_BYTES)
  const exporter = await kdf.expand(secret, HPKE_LABELS.exporter, context, HASH_BYTES)
  return {
    enc: new Uint8Array(enc),
    ciphertext: await sealGcm(key, nonce, aad, plaintext),
    secret: await kdf.expand(exporter, HPKE_LABELS.export, responseExportContext, EXPORT_BYTES),
  }
}
