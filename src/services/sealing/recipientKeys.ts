/** Session keys for each suite. Their private keys stay in the vault. */
import { createHash, hash } from "node:crypto"
import { type Bytes, concat, utf8 } from "../../domain/bytes/bytes.ts"
import { u16 } from "../../domain/protocol/hpke.ts"
import { ML_KEM_768, type Suite, X25519, X_WING } from "../../domain/protocol/suites.ts"
import { KEY_BYTES } from "../../domain/protocol/transcript.ts"
import type { HybridKey, KeyStorage } from "./KeyStorage.ts"
import type { LabeledKdf } from "./LabeledKdf.ts"
import { exactBuffer, secretBytes } from "./secretBytes.ts"

export interface RecipientKey {
  readonly suite: Suite
  /** For X-Wing computed on each access: it is long, and needed once. */
  readonly publicKey: Bytes
  /** The encapsulated secret, as an output of `kdf`. Throws if the key was destroyed. */
  readonly decapsulate: (enc: Bytes, kdf: LabeledKdf) => Bytes
  /** Overwrites the key. Calling it again does nothing. */
  readonly destroy: () => void
}

type Vault = Pick<KeyStorage, "agreementKey" | "hybridKey">

const EMPTY = new Uint8Array(0)
/** DHKEM's suite id (RFC 9180 §4.1). */
const KEM_SUITE_ID = concat(utf8("KEM"), u16(X25519.id.kem))
const EAE_PRK = utf8("eae_prk")
const SHARED_SECRET = utf8("shared_secret")
/** X-Wing's label: `\\.//^\\`. */
const X_WING_LABEL = new Uint8Array([0x5c, 0x2e, 0x2f, 0x2f, 0x5e, 0x5c])

const x25519 = (vault: Vault, secret?: Bytes): RecipientKey => {
  const key = vault.agreementKey(secret)
  return {
    suite: X25519,
    publicKey: key.publicKey,
    decapsulate: (enc, suiteKdf) => {
      const kdf = suiteKdf.forSuite(KEM_SUITE_ID)
      const shared = key.agree(enc)
      const prk = kdf.extract(EMPTY, EAE_PRK, shared)
      shared.fill(0)
      return kdf.expand(prk, SHARED_SECRET, concat(enc, key.publicKey), KEY_BYTES)
    },
    destroy: () => key.destroy(),
  }
}

/** Expands an X-Wing seed to its two private keys, concatenated. */
const expand = (seed: Bytes): Bytes => {
  const expanded = new Uint8Array(
    exactBuffer(
      createHash("shake256", { outputLength: ML_KEM_768.seedBytes + KEY_BYTES })
        .update(seed)
        .digest(),
    ),
  )
  seed.fill(0)
  return expanded
}

/** X-Wing, the usual suite. A class, because closures would take memory for each session. */
class XWingKey implements RecipientKey {
  readonly suite = X_WING
  private readonly keys: HybridKey

  /** The two private keys of a fresh key are drawn at random, which is equivalent to expanding a random seed. */
  constructor(vault: Vault, seed?: Bytes) {
    this.keys = vault.hybridKey(seed === undefined ? undefined : expand(seed))
  }

  get publicKey(): Bytes {
    return this.keys.publicKey
  }

  decapsulate(enc: Bytes, kdf: LabeledKdf): Bytes {
    const { mlKem, x25519 } = this.keys.decapsulate(enc)
    const input = secretBytes(4 * KEY_BYTES + X_WING_LABEL.length)
    input.set(mlKem)
    input.set(x25519, KEY_BYTES)
    input.set(enc.subarray(ML_KEM_768.ciphertextBytes), 2 * KEY_BYTES)
    input.set(this.keys.x25519PublicKey, 3 * KEY_BYTES)
    input.set(X_WING_LABEL, 4 * KEY_BYTES)
    mlKem.fill(0)
    x25519.fill(0)
    const shared = kdf.keep(hash("sha3-256", input, "buffer"))
    input.fill(0)
    return shared
  }

  destroy(): void {
    this.keys.destroy()
  }
}

const MAKERS: Readonly<Record<Suite["name"], (vault: Vault, secret?: Bytes) => RecipientKey>> = {
  "MLKEM768-X25519": (vault, seed) => new XWingKey(vault, seed),
  X25519: x25519,
}

/** A fresh key of `suite`; for tests with fixed keys, the key of the 32-byte `secret`, which is overwritten. */
export const recipientKey = (suite: Suite, vault: Vault, secret?: Bytes): RecipientKey =>
  MAKERS[suite.name](vault, secret)
