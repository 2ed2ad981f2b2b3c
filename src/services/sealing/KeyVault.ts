/**
 * Private keys of the proxy. They are made, used and destroyed here and never leave: callers get handles that agree
 * or sign. Two storages, chosen once at start: guarded memory through libsodium where the optional `sodium-native`
 * is installed (outside the JavaScript heap, locked, inaccessible between uses), else plain buffers.
 */
import { Context, Effect, Layer } from "effect"
import type { Bytes } from "../../domain/bytes.ts"
import { guardedStorage } from "./GuardedStorage.ts"
import { plainStorage } from "./PlainStorage.ts"

/** An X25519 private key (RFC 7748). */
export interface AgreementKey {
  readonly publicKey: Bytes
  /** The 32-byte shared secret with `peer`; throws when the key was destroyed or the result is all zero. */
  readonly agree: (peer: Bytes) => Bytes
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
  /** Takes over a 32-byte seed, whose bytes are overwritten. */
  readonly signingKey: (seed: Bytes) => SigningKey
  /** Overwrites every key that is still held. */
  readonly wipe: () => void
}

export class KeyVault extends Context.Service<KeyVault, Omit<KeyStorage, "wipe">>()(
  "sealgate/services/sealing/KeyVault",
) {
  /** Guarded where possible, else plain. */
  static readonly layer = Layer.effect(
    KeyVault,
    Effect.flatMap(
      Effect.promise(() => guardedStorage()),
      (storage) => held(storage ?? plainStorage()),
    ),
  )

  /** Plain buffers, also where guarded memory could be had. */
  static readonly layerPlain = Layer.effect(
    KeyVault,
    Effect.suspend(() => held(plainStorage())),
  )
}

/** Ties a storage to the scope, and to the process: a process that exits without closing its scopes wipes too. */
const held = (storage: KeyStorage) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      process.once("exit", storage.wipe)
      return KeyVault.of(storage)
    }),
    () =>
      Effect.sync(() => {
        process.off("exit", storage.wipe)
        storage.wipe()
      }),
  )
