/**
 * Private keys of the proxy. They are made, used and destroyed here and never leave: callers get handles that agree
 * or sign. Two storages, chosen once at start: guarded memory through libsodium where the optional `sodium-native`
 * is installed (outside the JavaScript heap, locked, inaccessible between uses), else plain buffers.
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
