import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { blockSize, FLOOR, pad, padme, UNPACED_FLOOR, unpad } from "../../../src/domain/protocol/padding.ts"
import * as reference from "../../support/protocol/reference.ts"

const payloads = fc.uint8Array({ maxLength: 3000 })
const floors = fc.constantFrom(UNPACED_FLOOR, FLOOR)
const lengths = fc.integer({ min: 2, max: 2 ** 31 - 1 })

describe("padme", () => {
  it("never shrinks, and grows by at most 12 %", () => {
    fc.assert(
      fc.property(lengths, (length) => {
        const size = padme(length)
        assert.isAtLeast(size, length)
        assert.isAtMost(size, Math.max(length * 1.12, length + 1))
        assert.strictEqual(size, reference.padme(length))
      }),
      { numRuns: 2000 },
    )
  })

  it("is monotone and idempotent", () => {
    fc.assert(
      fc.property(lengths, lengths, (a, b) => {
        assert.isAtMost(padme(Math.min(a, b)), padme(Math.max(a, b)))
        assert.strictEqual(padme(padme(a)), padme(a))
      }),
    )
  })

  it("produces few sizes", () => {
    const sizes = new Set(Array.from({ length: 2 ** 16 }, (_, i) => blockSize(i, FLOOR)))
    assert.isAtMost(sizes.size, 110)
  })
})

describe("padded blocks", () => {
  it("return their payload, and equal the reference's", () => {
    fc.assert(
      fc.property(payloads, floors, (payload, floor) => {
        const block = pad(payload, floor)
        assert.deepStrictEqual(block, new Uint8Array(reference.block(payload, floor)))
        assert.deepStrictEqual(unpad(block, floor), new Uint8Array(payload))
      }),
    )
  })

  it("are unpadded at any offset of a buffer", () => {
    fc.assert(
      fc.property(payloads, fc.nat(9), (payload, offset) => {
        const block = pad(payload, UNPACED_FLOOR)
        const larger = new Uint8Array(block.length + 20).fill(0xff)
        larger.set(block, offset)
        const found = unpad(larger.subarray(offset, offset + block.length), UNPACED_FLOOR)
        assert.deepStrictEqual(found, new Uint8Array(payload))
      }),
    )
  })

  it("are rejected with any pad byte altered", () => {
    fc.assert(
      fc.property(payloads, floors, fc.nat(), fc.integer({ min: 1, max: 255 }), (payload, floor, at, value) => {
        const block = pad(payload, floor)
        const padding = block.length - 4 - payload.length
        fc.pre(padding > 0)
        block[4 + payload.length + (at % padding)] = value
        assert.isUndefined(unpad(block, floor))
      }),
    )
  })

  it("are rejected with any other size", () => {
    fc.assert(
      fc.property(payloads, floors, fc.integer({ min: -3000, max: 3000 }), (payload, floor, by) => {
        const block = pad(payload, floor)
        fc.pre(by !== 0 && block.length + by >= 0)
        const other = new Uint8Array(block.length + by)
        other.set(block.subarray(0, other.length))
        assert.isUndefined(unpad(other, floor))
      }),
    )
  })

  it("with another length inside are rejected, unless the result is also a valid block", () => {
    fc.assert(
      fc.property(payloads, floors, fc.oneof(fc.nat(4000), fc.nat({ max: 2 ** 32 - 1 })), (payload, floor, length) => {
        const block = pad(payload, floor)
        new DataView(block.buffer).setUint32(0, length)
        const found = unpad(block, floor)
        // Zeros at the end of a payload can also be padding; any other change is rejected.
        if (found !== undefined) assert.deepStrictEqual(pad(found, floor), block)
        if (length > block.length - 4) assert.isUndefined(found)
      }),
    )
  })

  it("are rejected with the other floor", () => {
    assert.isUndefined(unpad(pad(new Uint8Array(10), UNPACED_FLOOR), FLOOR))
    assert.isUndefined(unpad(pad(new Uint8Array(10), FLOOR), UNPACED_FLOOR))
    assert.isUndefined(unpad(new Uint8Array(3), UNPACED_FLOOR))
  })
})
