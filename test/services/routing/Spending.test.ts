/** The amount that a request reserves again before another call. */
import { assert, it } from "@effect/vitest"
import { Spending, UNLIMITED } from "../../../src/services/routing/Spending.ts"
import { attempt } from "./ScriptedUpstream.ts"

const SIZE = { input: 10, limit: 50, choices: 1 }
const WORST = { tokens: 60, cost: Infinity }
const failed = attempt({ provider: "provider1", model: "a" }, { outcome: "timeout" })

it("a request reserves again what its failed calls took", () => {
  const spending = new Spending(UNLIMITED, SIZE, () => null, WORST)
  assert.deepStrictEqual(spending.missing, { tokens: 0, cost: 0 })
  spending.charge(failed, 0)
  assert.deepStrictEqual(spending.missing, { tokens: 60, cost: 0 })
  spending.addReserved(spending.missing)
  assert.deepStrictEqual(spending.missing, { tokens: 0, cost: 0 })
})

it("a request reserves nothing again that its job has not left", () => {
  const few = new Spending({ ...UNLIMITED, tokens: 100 }, SIZE, () => null, WORST)
  few.charge(failed, 0)
  assert.deepStrictEqual(few.missing, { tokens: 40, cost: 0 })
  const single = new Spending({ ...UNLIMITED, calls: 1 }, SIZE, () => null, WORST)
  single.charge(failed, 0)
  assert.deepStrictEqual(single.missing, { tokens: 0, cost: 0 })
})
