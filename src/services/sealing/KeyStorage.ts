/** What a storage of private keys is: it makes handles that agree or sign, and overwrites what it holds. */
import type { Bytes } from "../../domain/bytes.ts"

/** An X25519 private key (RFC 7748). */
export interface AgreementKey {
  readonly publicKey: Bytes
  /** The 32-byte shared secret with `peer`; throws when the key was destroyed or the result is all zero. */
  readonly agree: (peer: Bytes) => Bytes
  /** Overwrites the key. Calling it again does nothing. */
  readonly destroy: () => void
}

/** An ML-KEM-768 private key (FIPS 203). */
export interface DecapsulationKey {
  /** Computed each time: it is long, and needed once. */
  readonly publicKey: Bytes
  /** The 32-byte secret in `ciphertext`, another one if it was made for another key; throws when the key was destroyed. */
  readonly decapsulate: (ciphertext: Bytes) => Bytes
  /** Overwrites the key. Calling it again does nothing. */
  readonly destroy: () => void
}

/** An Ed25519 private key (RFC 8032). */
export interface SigningKey {
  readonly publicKey: Bytes
  /** The 64-byte signature over `message`; throws when the key was destroyed. */
  readonly sign: (message: Bytes) => Bytes
  /** Overwrites the key. Calling it again does nothing. */
  readonly destroy: () => void
}

/** How keys are held. All operations are synchronous, so that no other code runs while a key is readable. */
export interface KeyStorage {
  readonly kind: "guarded" | "plain"
  /** A fresh key; or, for tests with fixed keys, the given one, whose bytes are overwritten. */
  readonly agreementKey: (secret?: Bytes) => AgreementKey
  /** A fresh key; or, for tests with fixed keys, the one of the given seed (`d ‖ z`), whose bytes are overwritten. */
  readonly decapsulationKey: (seed?: Bytes) => DecapsulationKey
  /** Takes over a 32-byte seed, whose bytes are overwritten. */
  readonly signingKey: (seed: Bytes) => SigningKey
  /** Overwrites every key that is still held. */
  readonly wipe: () => void
}
