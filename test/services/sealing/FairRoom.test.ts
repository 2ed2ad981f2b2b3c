import { assert, describe, it } from "@effect/vitest"
import { FairRoom } from "../../../src/services/sealing/FairRoom.ts"
import { keptBy } from "../../support/garbage.ts"

describe("fair room", () => {
  it("lets a source hold as much as is still free, and takes all that is free without a source", () => {
    const room = new FairRoom(10)
    assert.deepStrictEqual([room.has("a", 10), room.has("a", 11), room.has(undefined, 11)], [true, false, false])
    room.take("a", 4)
    assert.deepStrictEqual([room.has("a", 2), room.has("a", 3)], [true, false])
    assert.deepStrictEqual([room.has("b", 6), room.has("b", 7)], [true, false])
    assert.deepStrictEqual([room.has(undefined, 6), room.has(undefined, 7)], [true, false])
    room.disown("a", 4)
    assert.deepStrictEqual([room.has("a", 6), room.has("a", 7)], [true, false])
    room.giveBack(undefined, 4)
    assert.isTrue(room.has("a", 10))
  })

  it("forgets sources that hold nothing", async () => {
    const room = new FairRoom(10)
    const kept = await keptBy(() => {
      for (let n = 0; n < 200_000; n++) {
        room.take(`source ${n}`)
        room.giveBack(`source ${n}`)
      }
    })
    assert.isTrue(room.has("a", 10))
    // Each source would take some 100 bytes.
    assert.isBelow(kept, 4_000_000)
  })
})
