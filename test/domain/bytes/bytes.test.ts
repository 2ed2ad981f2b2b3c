import { afterAll, assert, beforeAll, describe, it, vi } from "@effect/vitest"
import * as fc from "fast-check"
import * as native from "../../../src/domain/bytes/bytes.ts"
import { b64u, u32, u64 } from "../../support/protocol/reference.ts"

const { concat, equalBytes, fromUtf8, utf8 } = native

const anyBytes = fc.uint8Array({ maxLength: 200 })

/** Runs code as on a platform without a base64 codec. */
const withoutCodec = <A>(use: () => A): A => {
  const decode = Object.getOwnPropertyDescriptor(Uint8Array, "fromBase64") ?? {}
  const encode = Object.getOwnPropertyDescriptor(Uint8Array.prototype, "toBase64") ?? {}
  Reflect.deleteProperty(Uint8Array, "fromBase64")
  Reflect.deleteProperty(Uint8Array.prototype, "toBase64")
  try {
    return use()
  } finally {
    Reflect.defineProperty(Uint8Array, "fromBase64", decode)
    Reflect.defineProperty(Uint8Array.prototype, "toBase64", encode)
  }
}

let portable: typeof native
beforeAll(async () => {
  vi.resetModules()
  const decode = Object.getOwnPropertyDescriptor(Uint8Array, "fromBase64") ?? {}
  Reflect.deleteProperty(Uint8Array, "fromBase64")
  portable = await import("../../../src/domain/bytes/bytes.ts")
  Reflect.defineProperty(Uint8Array, "fromBase64", decode)
})
afterAll(() => vi.resetModules())

/** Valid and nearly valid base64url. */
const nearlyBase64Url = fc.oneof(
  anyBytes.map(b64u),
  fc.string({ maxLength: 12 }),
  fc.string({ unit: fc.constantFrom(..."ABCXYZabcxyz0189-_"), maxLength: 40 }),
  fc.string({ unit: fc.constantFrom(..."AQgwZm9v-_+/= \n\t."), maxLength: 12 }),
)

describe("base64url", () => {
  it("is tested with and without the platform's codec", () => {
    assert.notStrictEqual(portable, native)
    assert.isTrue("fromBase64" in Uint8Array && "toBase64" in Uint8Array.prototype, "this platform has no codec")
  })

  it("round-trips any bytes, natively and portably", () => {
    fc.assert(
      fc.property(anyBytes, (bytes) => {
        const text = b64u(bytes)
        assert.strictEqual(native.encodeBase64Url(bytes), text)
        assert.strictEqual(
          withoutCodec(() => portable.encodeBase64Url(bytes)),
          text,
        )
        assert.deepStrictEqual(native.decodeBase64Url(text), new Uint8Array(bytes))
        assert.deepStrictEqual(portable.decodeBase64Url(text), new Uint8Array(bytes))
      }),
    )
  })

  it("accepts exactly one text per byte string, natively and portably", () => {
    fc.assert(
      fc.property(nearlyBase64Url, (text) => {
        const bytes = Buffer.from(text, "base64url")
        const expected = b64u(bytes) === text ? new Uint8Array(bytes) : undefined
        assert.deepStrictEqual(native.decodeBase64Url(text), expected)
        assert.deepStrictEqual(portable.decodeBase64Url(text), expected)
      }),
      { numRuns: 2000 },
    )
  })
})

describe("byte functions", () => {
  it("write numbers big-endian", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.maxSafeNat(), (small, large) => {
        assert.deepStrictEqual(native.u32(small), new Uint8Array(u32(small)))
        assert.deepStrictEqual(native.u64(large), new Uint8Array(u64(large)))
      }),
    )
  })

  it("join and compare bytes", () => {
    fc.assert(
      fc.property(fc.array(anyBytes), anyBytes, anyBytes, (parts, a, b) => {
        assert.deepStrictEqual(concat(...parts), new Uint8Array(Buffer.concat(parts)))
        assert.strictEqual(equalBytes(a, b), Buffer.compare(a, b) === 0)
        assert.isTrue(equalBytes(a, a.slice()))
      }),
    )
  })

  it("decode valid UTF-8 unchanged and reject the rest", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        assert.strictEqual(fromUtf8(utf8(text)), text)
      }),
    )
    assert.strictEqual(fromUtf8(utf8("\uFEFFtext")), "\uFEFFtext")
    for (const malformed of [[0x80], [0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80]]) {
      assert.throws(() => fromUtf8(Uint8Array.from(malformed)), TypeError)
    }
  })
})
