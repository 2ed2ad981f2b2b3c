import { randomFillSync } from "node:crypto"
import { Context } from "effect"
import type { Bytes } from "../../domain/bytes/bytes.ts"

/** Bytes drawn at once, because each call to the generator has a fixed cost. */
const DRAWN = 4096

/** Random bytes for public values. Each byte is used once. */
const makeRandomBytes = (): ((size: number) => Bytes) => {
  const drawn = new Uint8Array(DRAWN)
  let next = DRAWN
  return (size) => {
    if (size > DRAWN) return randomFillSync(new Uint8Array(size))
    if (next + size > DRAWN) {
      randomFillSync(drawn)
      next = 0
    }
    next += size
    return drawn.slice(next - size, next)
  }
}

/** Source of nonces and identifiers: the system's generator, or fixed bytes in tests that replay a transcript. */
export const RandomBytes = Context.Reference<(size: number) => Bytes>("sealgate/services/sealing/RandomBytes", {
  defaultValue: makeRandomBytes,
})
