import { assert, describe, it } from "@effect/vitest"
import { rememberedPins, rememberPins, type Store, storeOf } from "../../../src/web/proxy/pins.ts"

const PIN = "A".repeat(43)

const denied = (): never => {
  throw new Error("denied")
}

/** A browser's store that holds `kept`. */
const storing = (kept: Map<string, string>): Store => ({
  getItem: (name) => kept.get(name) ?? null,
  setItem: (name, value) => void kept.set(name, value),
  removeItem: (name) => void kept.delete(name),
})

describe("remembered pins", () => {
  it("are in the browser's store, until they are forgotten", () => {
    const kept = new Map<string, string>()
    rememberPins(
      storeOf(() => storing(kept)),
      [PIN],
    )
    const later = storeOf(() => storing(kept))
    assert.deepStrictEqual(rememberedPins(later), [PIN])
    rememberPins(later, [])
    assert.strictEqual(kept.size, 0)
  })

  it("are in the page's memory when the browser has no store, none to read or none to write", () => {
    const broken: ReadonlyArray<() => Store> = [
      denied,
      () => ({ getItem: denied, setItem: denied, removeItem: denied }),
      () => ({ ...storing(new Map()), setItem: denied }),
    ]
    for (const open of broken) {
      const store = storeOf(open)
      assert.deepStrictEqual(rememberedPins(store), [])
      rememberPins(store, [PIN])
      assert.deepStrictEqual(rememberedPins(store), [PIN])
      rememberPins(store, [])
      assert.deepStrictEqual(rememberedPins(store), [])
    }
  })
})
