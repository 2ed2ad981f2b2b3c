/** Session keys for each suite. Their private keys stay in the vault. */
import { createHash, hash } from "node:crypto"
import { type Bytes, concat, utf8 } from "../../domain/bytes/bytes.ts"
import { u16 } from "../../domain/protocol/hpke.ts"
import { ML_KEM_768, type Suite, X25519, X_WING, X_WING_LABEL } from "../../domain/protocol/suites.ts"
import { KEY_BYTES } from "../../domain/protocol/transcript.ts"
import type { HeldSecret, KeyStorage } from "./KeyStorage.ts"
import type { LabeledKdf } from "./LabeledKdf.ts"
import { mlKemDecapsulate, mlKemPublicKey } from "./nativeKeys.ts"
import { exactBuffer, secretBytes } from "./secretBytes.ts"

export interface RecipientKey {
  readonly suite: Suite
  /** Computed on each access for X-Wing: the key is long, and needed once. */
  readonly publicKey: Bytes
  /** The encapsulated secret, as an output of `kdf`. Throws if the key was destroyed. */
  readonly decapsulate: (enc: Bytes, kdf: LabeledKdf) => Bytes
  /** Overwrites the key. Calling it again does nothing. */
  readonly destroy: () => void
}

type Vault = Pick<KeyStorage, "hold" | "x25519PublicKey" | "x25519">

const EMPTY = new Uint8Array(0)
/** DHKEM's suite id (RFC 9180 §4.1). */
const KEM_SUITE_ID = concat(utf8("KEM"), u16(X25519.id.kem))
const EAE_PRK = utf8("eae_prk")
const SHARED_SECRET = utf8("shared_secret")

const x25519Key = (vault: Vault, given?: Bytes): RecipientKey => {
  const held = vault.hold(KEY_BYTES, given)
  const publicKey = held.read(vault.x25519PublicKey)
  return {
    suite: X25519,
    publicKey,
    decapsulate: (enc, suiteKdf) => {
      const kdf = suiteKdf.forSuite(KEM_SUITE_ID)
      const shared = held.read((secret) => vault.x25519(secret, enc))
      const prk = kdf.extract(EMPTY, EAE_PRK, shared)
      shared.fill(0)
      return kdf.expand(prk, SHARED_SECRET, concat(enc, publicKey), KEY_BYTES)
    },
    destroy: () => held.destroy(),
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

const mlKemSeed = (secrets: Bytes): Bytes => secrets.subarray(0, ML_KEM_768.seedBytes)
const x25519Secret = (secrets: Bytes): Bytes => secrets.subarray(ML_KEM_768.seedBytes)

/** X-Wing, the usual suite. A class, because closures would take memory for each session. */
class XWingKey implements RecipientKey {
  readonly suite = X_WING
  private readonly vault: Vault
  /** Both keys lie together, because opening and closing a memory area costs as much as a signature. */
  private readonly held: HeldSecret
  private readonly x25519PublicKey: Bytes

  /** The two private keys of a fresh key are drawn at random, which is equivalent to expanding a random seed. */
  constructor(vault: Vault, seed?: Bytes) {
    this.vault = vault
    this.held = vault.hold(ML_KEM_768.seedBytes + KEY_BYTES, seed === undefined ? undefined : expand(seed))
    this.x25519PublicKey = this.held.read((secrets) => vault.x25519PublicKey(x25519Secret(secrets)))
  }

  get publicKey(): Bytes {
    return concat(
      this.held.read((secrets) => mlKemPublicKey(mlKemSeed(secrets))),
      this.x25519PublicKey,
    )
  }

  /** For another key's ciphertext the secret of ML-KEM is pseudorandom. */
  decapsulate(enc: Bytes, kdf: LabeledKdf): Bytes {
    const ciphertext = enc.subarray(0, ML_KEM_768.ciphertextBytes)
    const peer = enc.subarray(ML_KEM_768.ciphertextBytes)
    const { mlKem, x25519 } = this.held.read((secrets) => ({
      x25519: this.vault.x25519(x25519Secret(secrets), peer),
      mlKem: mlKemDecapsulate(mlKemSeed(secrets), ciphertext),
    }))
    const input = secretBytes(4 * KEY_BYTES + X_WING_LABEL.length)
    input.set(mlKem)
    input.set(x25519, KEY_BYTES)
    input.set(peer, 2 * KEY_BYTES)
    input.set(this.x25519PublicKey, 3 * KEY_BYTES)
    input.set(X_WING_LABEL, 4 * KEY_BYTES)
    mlKem.fill(0)
    x25519.fill(0)
    const shared = kdf.keep(hash("sha3-256", input, "buffer"))
    input.fill(0)
    return shared
  }

  destroy(): void {
    this.held.destroy()
  }
}

const MAKERS: Readonly<Record<Suite["name"], (vault: Vault, secret?: Bytes) => RecipientKey>> = {
  "MLKEM768-X25519": (vault, seed) => new XWingKey(vault, seed),
  X25519: x25519Key,
}

/** A fresh key of `suite`; for tests with fixed keys, the key of the 32-byte `secret`, which is overwritten. */
export const recipientKey = (suite: Suite, vault: Vault, secret?: Bytes): RecipientKey =>
  MAKERS[suite.name](vault, secret)
