import { assert, describe, it } from "@effect/vitest"
import { followLink, type Pinned, rememberedPins, rememberPins } from "../../../src/web/proxy/pins.ts"
import { type Store, storeOf } from "../../../src/web/shared/store.ts"

const PIN = "A".repeat(43)
const OTHER = "B".repeat(43)
const NOTHING: Pinned = { pins: [], from: "person" }

const denied = (): never => {
  throw new Error("denied")
}

/** A browser store that holds `kept`. */
const storing = (kept: Map<string, string>): Store => ({
  getItem: (name) => kept.get(name) ?? null,
  setItem: (name, value) => void kept.set(name, value),
  removeItem: (name) => void kept.delete(name),
})

describe("remembered pins", () => {
  it("are kept in the browser's store until forgotten", () => {
    const kept = new Map<string, string>()
    for (const from of ["person", "link"] as const) {
      rememberPins(
        storeOf(() => storing(kept)),
        { pins: [PIN], from },
      )
      const later = storeOf(() => storing(kept))
      assert.deepStrictEqual(rememberedPins(later), { pins: [PIN], from })
      rememberPins(later, NOTHING)
      assert.strictEqual(kept.size, 0)
    }
  })

  it("are kept in memory if the store is missing, unreadable or unwritable", () => {
    const broken: ReadonlyArray<() => Store> = [
      denied,
      () => ({ getItem: denied, setItem: denied, removeItem: denied }),
      () => ({ ...storing(new Map()), setItem: denied }),
    ]
    for (const open of broken) {
      const store = storeOf(open)
      assert.deepStrictEqual(rememberedPins(store), NOTHING)
      rememberPins(store, { pins: [PIN], from: "person" })
      assert.deepStrictEqual(rememberedPins(store), { pins: [PIN], from: "person" })
      rememberPins(store, NOTHING)
      assert.deepStrictEqual(rememberedPins(store), NOTHING)
    }
  })

  it("are empty if the store holds something else", () => {
    for (const text of ["", "{", "7", "[]", PIN, `{"pins":"${PIN}"}`, `{"pins":[7]}`, `{"pins":["${PIN}",null,{}]}`]) {
      assert.deepStrictEqual(rememberedPins(storing(new Map([["sealgate.pins", text]]))), NOTHING, text)
    }
  })
})

describe("a link with pins", () => {
  const pinned: Pinned = { pins: [PIN, OTHER], from: "person" }

  it("sets pins if there are none, marked as from a link", () => {
    assert.deepStrictEqual(followLink({ pinned: NOTHING }, [PIN]), { pinned: { pins: [PIN], from: "link" } })
  })

  it("changes nothing if it names the same pins in any order, or none", () => {
    for (const linked of [[PIN, OTHER], [OTHER, PIN], []])
      assert.deepStrictEqual(followLink({ pinned }, linked), { pinned })
  })

  it("keeps what an earlier link offers if it names none, and replaces it otherwise", () => {
    const before = { pinned, offered: ["C".repeat(43)] }
    assert.deepStrictEqual(followLink(before, []), before)
    assert.deepStrictEqual(followLink(before, [PIN]), { pinned, offered: [PIN] })
    assert.deepStrictEqual(followLink(before, [OTHER, PIN]), { pinned })
  })

  it("never replaces, adds or removes pins by itself", () => {
    for (const linked of [["C".repeat(43)], [PIN], [PIN, OTHER, "C".repeat(43)]]) {
      assert.deepStrictEqual(followLink({ pinned }, linked), { pinned, offered: linked })
    }
  })
})
