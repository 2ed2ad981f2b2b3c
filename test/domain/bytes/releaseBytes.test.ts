import { assert, describe, it } from "@effect/vitest"
import { lend, releaseBytes } from "../../../src/domain/bytes/releaseBytes.ts"

const large = () => new Uint8Array(64 * 1024)

describe("releaseBytes", () => {
  it("frees large buffers at once", () => {
    const bytes = large()
    releaseBytes(bytes)
    assert.lengthOf(bytes, 0)
    const few = new Uint8Array(1024)
    releaseBytes(few)
    assert.lengthOf(few, 1024)
  })

  it("keeps a buffer until every loan has ended", () => {
    const bytes = large()
    const giveBack = lend(bytes)
    const giveBackToo = lend(bytes.subarray(7))
    releaseBytes(bytes)
    giveBack()
    releaseBytes(bytes)
    assert.lengthOf(bytes, 64 * 1024)
    giveBackToo()
    releaseBytes(bytes)
    assert.lengthOf(bytes, 0)
  })
})
