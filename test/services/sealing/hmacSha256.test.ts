import { createHmac } from "node:crypto"
import { afterEach, assert, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { concat } from "../../../src/domain/bytes/bytes.ts"
import { watchSecrets } from "../../support/secrets.ts"

const bytesUpTo = (maxLength: number) => fc.uint8Array({ maxLength, size: "max" })

afterEach(() => {
  vi.doUnmock("sodium-native")
  vi.resetModules()
})

describe.each([true, false])("HMAC-SHA256 (libsodium is there: %s)", (isThere) => {
  const load = Effect.promise(async () => {
    vi.resetModules()
    if (!isThere) {
      vi.doMock("sodium-native", () => {
        throw new Error("not installed")
      })
    }
    const { sodium } = await import("../../../src/services/sealing/sodium.ts")
    assert.strictEqual(sodium !== undefined, isThere)
    return await import("../../../src/services/sealing/hmacSha256.ts")
  })

  it.effect("is that of Node's library, for keys and messages of any length, in any parts", () =>
    Effect.map(load, ({ hmacSha256 }) =>
      fc.assert(
        fc.property(bytesUpTo(200), fc.array(bytesUpTo(700), { maxLength: 4 }), (key, parts) => {
          const mac = new Uint8Array(32)
          hmacSha256(mac, key, ...parts)
          assert.deepStrictEqual(
            Buffer.from(mac),
            createHmac("sha256", key)
              .update(concat(...parts))
              .digest(),
          )
        }),
      ),
    ),
  )

  it.effect("may be written over its key", () =>
    Effect.map(load, ({ hmacSha256 }) => {
      const key = new Uint8Array(32).fill(7)
      const expected = createHmac("sha256", key).update("a").digest()
      hmacSha256(key, key, Uint8Array.of(0x61))
      assert.deepStrictEqual(Buffer.from(key), expected)
    }),
  )

  it.effect("leaves nothing of key and message behind", () =>
    Effect.gen(function* () {
      const watched = watchSecrets()
      const mac = new Uint8Array(32)
      yield* watched.during(
        Effect.map(load, ({ hmacSha256 }) => {
          for (const length of [0, 100, 1024, 5000]) {
            hmacSha256(mac, new Uint8Array(32).fill(7), new Uint8Array(length).fill(8))
            hmacSha256(mac, new Uint8Array(64).fill(7), new Uint8Array(length).fill(8), Uint8Array.of(9))
          }
        }),
      )
      assert.include(watched.seen(), "memory for a secret")
      // The keys are these tests' own.
      assert.deepStrictEqual(
        watched.left().filter((what) => what !== "key of an HMAC"),
        [],
      )
    }),
  )
})
