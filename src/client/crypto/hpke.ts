/** The sender's side of HPKE (RFC 9180, mode base, HKDF-SHA256, AES-256-GCM) for one message. */
import { type Bytes, concat } from "../../domain/bytes/bytes.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import { HPKE_LABELS, HPKE_VERSION, hpkeSuiteId, MODE_BASE, u16 } from "../../domain/protocol/hpke.ts"
import type { Suite, SuiteName } from "../../domain/protocol/suites.ts"
import {
  EXPORT_BYTES,
  HASH_BYTES,
  KEY_BYTES,
  NONCE_BYTES,
  responseExportContext,
} from "../../domain/protocol/transcript.ts"
import { Unreachable } from "../errors.ts"
import { expander, hmac, sealGcm } from "./primitives.ts"
import type { SenderKem } from "./SenderKem.ts"
import type { Eventual } from "./webPrimitives.ts"
import { nodeCrypto } from "./nodeCrypto.ts"

const x25519 = async (): Promise<SenderKem> => {
  const { DhkemX25519HkdfSha256 } = await import("@hpke/dhkem-x25519")
  return new DhkemX25519HkdfSha256()
}

const xWing = async (): Promise<SenderKem> => {
  const crypto = nodeCrypto()
  if (crypto !== undefined) return (await import("./nativeXWing.ts")).nativeXWing(crypto)
  const { XWing } = await import("@hpke/hybridkem-x-wing")
  return new XWing()
}

/** Each suite's KEM: Node's, else a portable one, which is slower. Portable ones are large, so they are loaded on demand. */
const KEMS: Readonly<Record<SuiteName, () => Promise<SenderKem>>> = { "MLKEM768-X25519": xWing, X25519: x25519 }

const loadKem = (suite: SuiteName): Promise<SenderKem> =>
  KEMS[suite]().catch((cause: unknown) => {
    const message = `The code that seals with ${suite} could not be loaded. In a page, reload it: its files may have been replaced.`
    throw new Unreachable(message, { cause }, false)
  })

const EMPTY = new Uint8Array(0)
/** A missing salt: zeros (RFC 5869 §2.2). */
const NO_SALT = new Uint8Array(HASH_BYTES)

/** A suite's KEM with its `LabeledExtract` and `LabeledExpand` (§4). */
interface Schedule {
  readonly kem: SenderKem
  readonly extract: (salt: Bytes, label: Bytes, ikm: Bytes) => Promise<Bytes>
  readonly expander: (prk: Bytes) => Promise<(label: Bytes, info: Bytes, length: number) => Eventual<Bytes>>
  /** Hash of the empty PSK id of mode base. */
  readonly pskIdHash: Bytes
}

const load = async (suite: Suite): Promise<Schedule> => {
  const prefix = concat(HPKE_VERSION, hpkeSuiteId(suite.id))
  const extract = (salt: Bytes, label: Bytes, ikm: Bytes) => hmac(salt, [prefix, label, ikm])
  return {
    kem: await loadKem(suite.name),
    extract,
    expander: async (prk) => {
      const expand = await expander(prk)
      return (label, info, length) => expand(length, u16(length), prefix, label, info)
    },
    pskIdHash: await extract(NO_SALT, HPKE_LABELS.pskIdHash, EMPTY),
  }
}

const schedules = new Map<SuiteName, Promise<Schedule>>()

const scheduleOf = (suite: Suite): Promise<Schedule> => {
  const known = schedules.get(suite.name)
  if (known !== undefined) return known
  const loaded = load(suite)
  schedules.set(suite.name, loaded)
  // Forget a failed load, so that the next request tries again.
  loaded.catch(() => schedules.delete(suite.name))
  return loaded
}

/** Imported session keys, by the bytes that they were imported from. The import takes a third of an encapsulation's time. */
const recipients = new WeakMap<Bytes, Promise<CryptoKey>>()

const recipientOf = (kem: SenderKem, publicKey: Bytes): Promise<CryptoKey> => {
  const known = recipients.get(publicKey)
  if (known !== undefined) return known
  const read = kem.deserializePublicKey(publicKey)
  recipients.set(publicKey, read)
  return read
}

interface HpkeSealed {
  readonly enc: Bytes
  readonly ciphertext: Bytes
  /** The secret exported for the response. */
  readonly secret: Bytes
}

/** Seals one message and exports the response secret (§5.1 to §5.3). `ephemeralSeed` is for published vectors only. */
export const hpkeSeal = async (
  suite: Suite,
  recipient: Bytes,
  info: Bytes,
  aad: Bytes,
  plaintext: Bytes,
  ephemeralSeed?: Bytes,
): Promise<HpkeSealed> => {
  const { expander, extract, kem, pskIdHash } = await scheduleOf(suite)
  const recipientPublicKey = await recipientOf(kem, recipient)
  const { enc, sharedSecret } = await kem.encap({ recipientPublicKey, ...withoutUndefined({ ekm: ephemeralSeed }) })
  const context = concat(MODE_BASE, pskIdHash, await extract(NO_SALT, HPKE_LABELS.infoHash, info))
  const expand = await expander(await extract(new Uint8Array(sharedSecret), HPKE_LABELS.secret, EMPTY))
  const key = await expand(HPKE_LABELS.key, context, KEY_BYTES)
  // The only message of its context, so the sequence number that is mixed in is 0.
  const nonce = await expand(HPKE_LABELS.baseNonce, context, NONCE_BYTES)
  const expandExporter = await expander(await expand(HPKE_LABELS.exporter, context, HASH_BYTES))
  return {
    enc: new Uint8Array(enc),
    ciphertext: await sealGcm(key, nonce, aad, plaintext),
    secret: await expandExporter(HPKE_LABELS.export, responseExportContext, EXPORT_BYTES),
  }
}
