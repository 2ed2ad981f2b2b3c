import { assert, describe, it } from "@effect/vitest"
import { makeRefusals } from "../../../src/server/connections/Refusals.ts"

/** Refusals at a time that the test sets. */
const begun = () => {
  const clock = { now: 0 }
  const { count, forget, pause } = makeRefusals(() => clock.now)
  const counted = (client: string, refusals: number) => Array.from({ length: refusals }, () => count(client))
  return { clock, counted, forget, pause }
}

describe("refusals", () => {
  it("delay a client after 200 at once, by 5 ms more each time and at most 1 s", () => {
    const { counted } = begun()
    const waits = counted("a", 500)
    assert.deepStrictEqual(new Set(waits.slice(0, 200)), new Set([0]))
    assert.deepStrictEqual(waits.slice(200, 203), [5, 10, 15])
    assert.deepStrictEqual(new Set(waits.slice(399)), new Set([1000]))
    assert.deepStrictEqual(counted("b", 1), [0])
  })

  it("delay new connections of a client for as long, without counting them", () => {
    const { clock, counted, pause } = begun()
    assert.strictEqual(pause("a"), 0)
    counted("a", 300)
    assert.deepStrictEqual([pause("a"), pause("a"), pause("b")], [500, 500, 0])
    clock.now = 400
    assert.strictEqual(pause("a"), 100)
    clock.now = 600
    assert.strictEqual(pause("a"), 0)
  })

  it("of an abusive client count for 2 s at most", () => {
    const { clock, counted } = begun()
    counted("a", 5000)
    clock.now = 2000
    assert.deepStrictEqual(counted("a", 1), [0])
  })

  it("give a client no extra allowance after a quiet period", () => {
    const { clock, counted } = begun()
    counted("a", 1)
    clock.now = 3_600_000
    const waits = counted("a", 202)
    assert.deepStrictEqual(waits.slice(199), [0, 5, 10])
  })

  it("are forgotten only once they no longer count", () => {
    const { clock, counted, forget } = begun()
    counted("a", 300)
    clock.now = 100
    forget()
    assert.deepStrictEqual(counted("a", 1), [405])
  })
})
