import { assert, describe, it } from "@effect/vitest"
import { Duration } from "effect"
import { MAX_PLACES_OF_CALLER, RecentPlaces } from "../../../src/services/upstream/RecentPlaces.ts"
import { keptBy } from "../../support/garbage.ts"

const KEPT_MS = 20_000

const placesFor = () => new RecentPlaces(Duration.millis(KEPT_MS))

describe("recent places", () => {
  it("are kept for their time, which a later answer begins anew", () => {
    const places = placesFor()
    places.set("a", "alice", "provider1", 0)
    places.set("b", "alice", "provider1", 1)
    places.set("a", "alice", "provider2", 2)
    assert.isFalse(places.isEmpty(KEPT_MS + 1))
    assert.deepStrictEqual([places.get("a"), places.get("b")], ["provider2", undefined])
    assert.isTrue(places.isEmpty(KEPT_MS + 2))
    assert.isUndefined(places.get("a"))
  })

  it("of one caller are the most recently used, up to the limit", () => {
    const places = placesFor()
    for (let n = 0; n < MAX_PLACES_OF_CALLER; n++) places.set(`${n}`, "alice", "provider1", 0)
    assert.isDefined(places.get("0"))
    places.set("0", "alice", "provider1", 0)
    places.set("one more", "alice", "provider1", 0)
    assert.deepStrictEqual([places.get("0"), places.get("1")], ["provider1", undefined])
  })

  it("leave nothing behind of callers that are gone", async () => {
    const places = placesFor()
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
