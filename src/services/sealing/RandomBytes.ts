import { randomFillSync } from "node:crypto"
import { Context } from "effect"
import type { Bytes } from "../../domain/bytes/bytes.ts"

/** Source of nonces and identifiers: the system's generator, or fixed bytes in tests that replay a transcript. */
export const RandomBytes = Context.Reference<(size: number) => Bytes>("sealgate/services/sealing/RandomBytes", {
  defaultValue: () => (size) => randomFillSync(new Uint8Array(size)),
})
