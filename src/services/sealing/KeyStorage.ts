import type { Bytes } from "../../domain/bytes/bytes.ts"

/** Memory for one secret. */
export interface HeldSecret {
  /** Throws if the secret was destroyed. */
  readonly read: <A>(use: (secret: Bytes) => A) => A
  /** Overwrites the secret. Calling it again does nothing. */
  readonly destroy: () => void
}

/** An Ed25519 private key (RFC 8032). */
interface SigningKey {
  readonly publicKey: Bytes
  /** The 64-byte signature over `message`. Throws if the key was destroyed. */
  readonly sign: (message: Bytes) => Bytes
  /** Overwrites the key. Calling it again does nothing. */
  readonly destroy: () => void
}

/** All operations are synchronous, so that no other code runs while a key is readable. */
export interface KeyStorage {
  readonly kind: "guarded" | "plain"
  /** Holds `length` random bytes; or, for tests with fixed keys, a copy of `given`, which is overwritten. */
  readonly hold: (length: number, given?: Bytes) => HeldSecret
  /** The X25519 public key (RFC 7748) of a held secret. */
  readonly x25519PublicKey: (secret: Bytes) => Bytes
  /** The 32-byte secret that X25519 shares with `peer`. Throws if it is all zero. */
  readonly x25519: (secret: Bytes, peer: Bytes) => Bytes
  /** Takes over a 32-byte seed and overwrites the given bytes. */
  readonly signingKey: (seed: Bytes) => SigningKey
  /** Overwrites all remaining keys. */
  readonly wipe: () => void
}
