/** One unit is a batch of frames that are sealed in a row, after others of the same response. */
import { randomBytes } from "node:crypto"
import { utf8 } from "../../src/domain/bytes/bytes.ts"
import { ResponseSealer } from "../../src/services/sealing/ResponseSealer.ts"
import type { Work } from "../harness/Load.ts"

/** Calls per unit: a single call would cost less than the load itself. */
const CALLS = 50

const bytes = (size: number) => new Uint8Array(randomBytes(size))

const delta = utf8(JSON.stringify({ delta: { choices: [{ index: 0, delta: { content: "word " } }] } }))

export const make = async ({ before }: { readonly before: number }): Promise<Work> => {
  const sealer = new ResponseSealer({
    secret: bytes(32),
    enc: bytes(32),
    responseNonce: bytes(32),
    requestHash: bytes(32),
    request: { credential: bytes(0), payload: utf8("{}") },
  })
  const seal = (count: number) => {
    for (let i = 0; i < count; i++) sealer.seal("stream", delta, false)
  }
  seal(before)
  return { unit: async () => seal(CALLS) }
}
