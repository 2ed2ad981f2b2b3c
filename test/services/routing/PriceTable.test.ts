import { assert, describe, it } from "@effect/vitest"
import { LIST_PRICES } from "../../../src/services/routing/PriceTable.ts"
import { PROVIDERS, SLOTS } from "../../../src/services/upstream/Slots.ts"

/** Default models without a list price, with the reason. */
const UNPRICED = {
  "mistral-large-latest": "an alias that Mistral moves to newer models at other prices",
}

describe("LIST_PRICES", () => {
  it("prices the default model of every registered vendor, apart from the listed exceptions", () => {
    const priced = new Set<string>(LIST_PRICES.map(({ model }) => model))
    const unpriced = SLOTS.map((slot) => PROVIDERS[slot].model).filter((model) => !priced.has(model))
    assert.deepStrictEqual(unpriced, Object.keys(UNPRICED))
  })
})
