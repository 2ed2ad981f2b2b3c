import { assert, describe, it } from "@effect/vitest"
import { CollectedBytes } from "../../../src/domain/bytes/collectedBytes.ts"
import * as fc from "fast-check"

const pieces = fc.array(fc.uint8Array({ maxLength: 3000 }), { maxLength: 40 })

describe("CollectedBytes", () => {
  it("returns the bytes in the order in which they arrived", () => {
    fc.assert(
      fc.property(pieces, fc.nat(50_000), (pieces, expected) => {
        const collected = new CollectedBytes(expected)
        for (const piece of pieces) collected.add(piece)
        assert.deepStrictEqual(Buffer.from(collected.take()), Buffer.concat(pieces))
        assert.deepStrictEqual([collected.length, collected.held], [0, 0])
      }),
    )
  })

  it("allocates at most twice the bytes that arrived, and never more than expected unless more arrive", () => {
    fc.assert(
      fc.property(pieces, fc.nat(50_000), (pieces, expected) => {
        const collected = new CollectedBytes(expected)
        for (const piece of pieces) {
          collected.add(piece)
          assert.isAtLeast(collected.held, collected.length)
          assert.isAtMost(collected.held, Math.max(2 * collected.length, 1024))
          if (collected.length <= expected) assert.isAtMost(collected.held, expected)
        }
      }),
    )
  })

  it("copies rarely, even if more bytes arrive than expected", () => {
    for (const expected of [0, 1000, 65_536, 1_000_000]) {
      const collected = new CollectedBytes(expected)
      const sizes = new Set<number>()
      for (let i = 0; i < 100_000; i++) {
        collected.add(Uint8Array.of(i))
        sizes.add(collected.held)
      }
      assert.isBelow(sizes.size, 12)
    }
  })
})
