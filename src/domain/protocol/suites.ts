/** The cipher suites of the sealed protocol (§2). Server and browser implement their KEMs separately. */
import type { Bytes } from "../bytes/bytes.ts"
import { isMlKem768Key, isX25519Key } from "./kemKeys.ts"

/** Ids of a suite in HPKE's registries (RFC 9180 §7). */
export interface SuiteId {
  readonly kem: number
  readonly kdf: number
  readonly aead: number
}

export interface Suite {
  /** Name in settings and messages. */
  readonly name: SuiteName
  readonly id: SuiteId & { readonly kem: KemId; readonly kdf: typeof KDF_ID; readonly aead: typeof AEAD_ID }
  readonly encBytes: number
  readonly publicKeyBytes: number
  /** Validates a public key of the right length, before sealing to it. */
  readonly isSoundKey: (publicKey: Bytes) => boolean
  /** Validates an `enc` of the right length, before decapsulation. */
  readonly isSoundEnc: (enc: Bytes) => boolean
}

type KemId = 0x0020 | 0x647a
export type SuiteName = "MLKEM768-X25519" | "X25519"

/** HKDF-SHA256 and AES-256-GCM; suites differ only in their KEM. */
const KDF_ID = 0x0001
const AEAD_ID = 0x0002

const X25519_BYTES = 32
export const ML_KEM_768 = { seedBytes: 64, publicKeyBytes: 1184, ciphertextBytes: 1088 } as const
/** X-Wing's label: `\\.//^\\`. */
export const X_WING_LABEL = new Uint8Array([0x5c, 0x2e, 0x2f, 0x2f, 0x5e, 0x5c])

/**
 * X-Wing (draft-connolly-cfrg-xwing-kem-08; -09 and -10 differ only in date). IANA registered its number under that name;
 * draft-ietf-hpke-pq uses another name since revision -02, with the same result.
 */
export const X_WING: Suite = {
  name: "MLKEM768-X25519",
  id: { kem: 0x647a, kdf: KDF_ID, aead: AEAD_ID },
  encBytes: ML_KEM_768.ciphertextBytes + X25519_BYTES,
  publicKeyBytes: ML_KEM_768.publicKeyBytes + X25519_BYTES,
  isSoundKey: (key) =>
    isMlKem768Key(key.subarray(0, ML_KEM_768.publicKeyBytes)) && isX25519Key(key.subarray(ML_KEM_768.publicKeyBytes)),
  // ML-KEM accepts any ciphertext; an invalid one yields an unrelated secret.
  isSoundEnc: (enc) => isX25519Key(enc.subarray(ML_KEM_768.ciphertextBytes)),
}

/** DHKEM(X25519, HKDF-SHA256). */
export const X25519: Suite = {
  name: "X25519",
  id: { kem: 0x0020, kdf: KDF_ID, aead: AEAD_ID },
  encBytes: X25519_BYTES,
  publicKeyBytes: X25519_BYTES,
  isSoundKey: isX25519Key,
  isSoundEnc: isX25519Key,
}

/** Preferred first. */
export const SUITES: ReadonlyArray<Suite> = [X_WING, X25519]

/** Suites that a client may offer at most. */
export const MAX_SUITES = 8

export const suiteWith = ({ aead, kdf, kem }: SuiteId): Suite | undefined =>
  SUITES.find(({ id }) => id.kem === kem && id.kdf === kdf && id.aead === aead)
