import { randomFillSync } from "node:crypto"
import { Context } from "effect"
import type { Bytes } from "../../domain/bytes/bytes.ts"

/** How many bytes are drawn at once: to draw costs more than what is drawn. */
const DRAWN = 4096

/** Random bytes for what becomes public. Each byte is given out once. */
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

/** Source of nonces and identifiers: the system's generator, or fixed bytes where a test replays a transcript. */
export const RandomBytes = Context.Reference<(size: number) => Bytes>("sealgate/services/sealing/RandomBytes", {
  defaultValue: makeRandomBytes,
})
