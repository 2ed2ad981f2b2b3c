import { assert, describe, it } from "@effect/vitest"
import { Duration } from "effect"
import { MAX_PLACES_OF_CALLER, RecentPlaces } from "../../../src/services/upstream/RecentPlaces.ts"
import { keptBy } from "../../support/garbage.ts"

describe("recent places", () => {
  it("of one caller are the most recently used, up to the limit", () => {
    const places = new RecentPlaces(Duration.seconds(20))
    for (let n = 0; n < MAX_PLACES_OF_CALLER; n++) places.set(`${n}`, "alice", "provider1", 0)
    places.set("0", "alice", "provider1", 0)
    places.set("one more", "alice", "provider1", 0)
    assert.deepStrictEqual([places.get("0"), places.get("1")], ["provider1", undefined])
  })

  it("leave nothing behind of callers that are gone", async () => {
    const places = new RecentPlaces(Duration.seconds(20))
    const kept = await keptBy(() => {
      for (let n = 0; n < 100_000; n++) {
        places.set("a", `caller ${n}`, "provider1", 0)
        places.delete("a")
      }
    })
    assert.isTrue(places.isEmpty(0))
    // Each caller would take some 200 bytes.
    assert.isBelow(kept, 4_000_000)
  })
})
