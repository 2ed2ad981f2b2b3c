/** Storage of private keys: makes handles that agree or sign, and overwrites the keys. */
import type { Bytes } from "../../domain/bytes/bytes.ts"

/** An X25519 private key (RFC 7748). */
export interface AgreementKey {
  readonly publicKey: Bytes
  /** The 32-byte shared secret with `peer`. Throws if the key was destroyed or the result is all zero. */
  readonly agree: (peer: Bytes) => Bytes
  /** Overwrites the key. Calling it again does nothing. */
  readonly destroy: () => void
}

/** The two private keys of X-Wing, which are always used together. */
export interface HybridKey {
  /** The public keys of ML-KEM-768 (FIPS 203) and X25519. Computed on each access: it is long, and needed once. */
  readonly publicKey: Bytes
  /** The last 32 bytes of {@link publicKey}. */
  readonly x25519PublicKey: Bytes
  /**
   * The two 32-byte secrets in `enc`, an ML-KEM ciphertext followed by an X25519 public key. For another key's ciphertext the
   * ML-KEM secret is pseudorandom. Throws if the keys were destroyed or the X25519 secret is all zero.
   */
  readonly decapsulate: (enc: Bytes) => HybridSecrets
  /** Overwrites the key. Calling it again does nothing. */
  readonly destroy: () => void
}

export interface HybridSecrets {
  readonly mlKem: Bytes
  readonly x25519: Bytes
}

/** An Ed25519 private key (RFC 8032). */
export interface SigningKey {
  readonly publicKey: Bytes
  /** The 64-byte signature over `message`. Throws if the key was destroyed. */
  readonly sign: (message: Bytes) => Bytes
  /** Overwrites the key. Calling it again does nothing. */
  readonly destroy: () => void
}

/** All operations are synchronous, so that no other code runs while a key is readable. */
export interface KeyStorage {
  readonly kind: "guarded" | "plain"
  /** A fresh key; or, for tests with fixed keys, the given one, whose bytes are overwritten. */
  readonly agreementKey: (secret?: Bytes) => AgreementKey
  /** Fresh keys; or, for tests with fixed keys, those of `d ‖ z ‖ x25519`, whose bytes are overwritten. */
  readonly hybridKey: (secrets?: Bytes) => HybridKey
  /** Takes over a 32-byte seed, whose bytes are overwritten. */
  readonly signingKey: (seed: Bytes) => SigningKey
  /** Overwrites all remaining keys. */
  readonly wipe: () => void
}
