import { assert, describe, it } from "@effect/vitest"
import { readBody } from "../../../src/client/transport/transport.ts"
import { collectGarbage } from "../../support/garbage.ts"

/** Memory in use, without garbage. */
const used = async (): Promise<number> => {
  await collectGarbage()
  const { external, heapUsed } = process.memoryUsage()
  return heapUsed + external
}

const cancel = async () => undefined

describe("readBody", () => {
  it("takes memory for the bytes of a body, not for its pieces", async () => {
    const length = 200_000
    let next = 0
    let first = 0
    let last = 0
    const read = async () => {
      if (next === 1) first = await used()
      if (next === length) {
        last = await used()
        return { done: true as const, value: undefined }
      }
      return { value: Uint8Array.of(next++) }
    }
    const body = { cancel, getReader: () => ({ read, cancel }) }
    const bytes = await readBody({ ok: true, status: 200, headers: new Headers(), body })
    assert.deepStrictEqual(
      bytes,
      Uint8Array.from({ length }, (_, i) => i),
    )
    assert.isBelow(last - first, 10 * length)
  })
})
