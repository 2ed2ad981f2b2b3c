import { randomFillSync } from "node:crypto"
import { Context } from "effect"
import type { Bytes } from "../../domain/bytes.ts"

/** Source of nonces and identifiers: the system's generator, or fixed bytes where a test replays a transcript. */
export const RandomBytes = Context.Reference<(size: number) => Bytes>("sealgate/services/sealing/RandomBytes", {
  defaultValue: () => (size) => randomFillSync(new Uint8Array(size)),
})
