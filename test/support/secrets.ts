/**
 * Watches the memory of secrets while product code runs: buffers from `secretBytes`, which allocates all of them, and
 * arguments and results of `node:crypto`.
 */
import crypto from "node:crypto"
import { syncBuiltinESMExports } from "node:module"
import { Effect } from "effect"

type Method = (...args: ReadonlyArray<unknown>) => unknown

const methodOf = (object: unknown, name: string): Method => {
  const method: unknown = Reflect.get(Object(object), name)
  if (typeof method !== "function") throw new TypeError(`${name} is no function`)
  return (...args) => Reflect.apply(method, object, args)
}

/** Buffers by kind, in order of appearance. */
type Note = (what: string, bytes: unknown) => void

/** Passes every object that a function of `node:crypto` creates to `change`. */
const tap = (name: keyof typeof crypto, change: (note: Note, args: ReadonlyArray<unknown>, made: unknown) => void) => ({
  name,
  change,
})

/** Records arguments or results of a method of `object`. */
const tapMethod = (object: unknown, name: string, see: (args: ReadonlyArray<unknown>, result: unknown) => void) => {
  const method = methodOf(object, name)
  Reflect.set(Object(object), name, (...args: ReadonlyArray<unknown>) => {
    const result = method(...args)
    see(args, result)
    return result
  })
}

const TAPS = [
  tap("createCipheriv", (note, [, key], cipher) => {
    note("key of a cipher", key)
    tapMethod(cipher, "update", ([plaintext]) => note("block", plaintext))
  }),
  tap("createDecipheriv", (note, [, key], decipher) => {
    note("key of a decipher", key)
    tapMethod(decipher, "update", (_, plaintext) => note("plaintext", plaintext))
  }),
  tap("createHmac", (note, [, key], hmac) => {
    // A key that is longer than a hash is a salt of HKDF, which is public.
    if (ArrayBuffer.isView(key) && key.byteLength <= 32) note("key of an HMAC", key)
    tapMethod(hmac, "digest", (_, digest) => note("HMAC", digest))
  }),
  // Texts are public values.
  tap("hash", (note, _, digest) => note("hash", digest)),
  tap("createPrivateKey", (note, [options]) => note("encoded private key", Reflect.get(Object(options), "key"))),
  tap("diffieHellman", (note, _, shared) => note("agreed secret", shared)),
  tap("decapsulate", (note, [options], shared) => {
    note("encoded private key", Reflect.get(Object(options), "key"))
    note("decapsulated secret", shared)
  }),
]

export interface Watched {
  /** Runs product code and records its secrets. One at a time, because it replaces global functions. */
  readonly during: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** All recorded buffers, zeroed or not. */
  readonly seen: () => ReadonlyArray<string>
  /** Recorded buffers that are not all zero. */
  readonly left: () => ReadonlyArray<string>
}

const bytesOf = (value: unknown): Uint8Array | undefined => {
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  return value instanceof NativeArrayBuffer ? new Uint8Array(value) : undefined
}

const NativeArrayBuffer = ArrayBuffer

export const watchSecrets = (): Watched => {
  const notes: Array<{ readonly what: string; readonly bytes: Uint8Array }> = []
  const note: Note = (what, value) => {
    const bytes = bytesOf(value)
    if (bytes !== undefined) notes.push({ what, bytes })
  }

  const start = () => {
    const originals = TAPS.map(({ change, name }) => {
      const original: unknown = Reflect.get(crypto, name)
      const make = methodOf(crypto, name)
      Reflect.set(crypto, name, (...args: ReadonlyArray<unknown>) => {
        const made = make(...args)
        change(note, args, made)
        return made
      })
      return { name, original }
    })
    globalThis.ArrayBuffer = new Proxy(NativeArrayBuffer, {
      construct: (target, args, newTarget) => {
        const made = Reflect.construct(target, args, newTarget)
        note("memory for a secret", made)
        return made
      },
    })
    syncBuiltinESMExports()
    return () => {
      for (const { name, original } of originals) Reflect.set(crypto, name, original)
      globalThis.ArrayBuffer = NativeArrayBuffer
      syncBuiltinESMExports()
    }
  }

  return {
    during: (effect) =>
      Effect.acquireUseRelease(
        Effect.sync(start),
        () => effect,
        (stop) => Effect.sync(stop),
      ),
    seen: () => notes.map(({ what }) => what),
    left: () => notes.filter(({ bytes }) => bytes.some((byte) => byte !== 0)).map(({ what }) => what),
  }
}
