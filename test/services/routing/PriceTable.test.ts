import { assert, describe, it } from "@effect/vitest"
import { LIST_PRICES } from "../../../src/services/routing/PriceTable.ts"
import { PROVIDERS, type Slot, SLOTS } from "../../../src/services/upstream/Slots.ts"

/** Default models without a list price, with the reason. */
const UNPRICED: Partial<Record<Slot, string>> = {
  provider2: "mistral-large-latest is an alias that Mistral moves to newer models at other prices",
}

describe("LIST_PRICES", () => {
  it("prices the default model of every registered vendor, apart from the listed exceptions", () => {
    const priced = new Set<string>(LIST_PRICES.map(({ model }) => model))
    const unpriced = SLOTS.filter((slot) => !priced.has(PROVIDERS[slot].model))
    assert.deepStrictEqual(unpriced, Object.keys(UNPRICED))
  })
})
