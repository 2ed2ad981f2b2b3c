/**
 * Watches the memory that secrets are in while something of the product runs: what it takes for them (`secretBytes` is the
 * one place that makes array buffers), and what it hands to `node:crypto` and gets from there.
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

/** Buffers by what they were, in the order in which they were seen. */
type Note = (what: string, bytes: unknown) => void

/** Lets `change` see every object that a function of `node:crypto` makes. */
const tap = (name: keyof typeof crypto, change: (note: Note, args: ReadonlyArray<unknown>, made: unknown) => void) => ({
  name,
  change,
})

/** Notes what goes into a method of `object`, or what comes out of it. */
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
  // One that is text is of something public.
  tap("hash", (note, _, digest) => note("hash", digest)),
  tap("createPrivateKey", (note, [options]) => note("encoded private key", Reflect.get(Object(options), "key"))),
  tap("diffieHellman", (note, _, shared) => note("agreed secret", shared)),
  tap("decapsulate", (note, [options], shared) => {
    note("encoded private key", Reflect.get(Object(options), "key"))
    note("decapsulated secret", shared)
  }),
]

export interface Watched {
  /** Runs something of the product and keeps an eye on its secrets. One at a time: what is replaced is everybody's. */
  readonly during: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** What was seen so far, whether or not it still has anything in it. */
  readonly seen: () => ReadonlyArray<string>
  /** What was seen so far and is not all zero now. */
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
