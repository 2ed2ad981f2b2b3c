/**
 * The proxy's private keys. They never leave the vault: callers get handles that agree or sign. The storage is chosen at
 * start: libsodium's guarded memory if the optional `sodium-native` is installed, else plain buffers.
 */
import { Context, Effect, Layer } from "effect"
import { guardedStorage } from "./GuardedStorage.ts"
import type { KeyStorage } from "./KeyStorage.ts"
import { plainStorage } from "./PlainStorage.ts"

export class KeyVault extends Context.Service<KeyVault, Omit<KeyStorage, "wipe">>()(
  "sealgate/services/sealing/KeyVault",
) {
  /** Guarded where possible, else plain. */
  static readonly layer = Layer.effect(
    KeyVault,
    Effect.suspend(() => held(guardedStorage() ?? plainStorage())),
  )

  /** Always plain buffers. */
  static readonly layerPlain = Layer.effect(
    KeyVault,
    Effect.suspend(() => held(plainStorage())),
  )
}

/** Wipes a storage when the scope closes, and when the process exits without closing it. */
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
