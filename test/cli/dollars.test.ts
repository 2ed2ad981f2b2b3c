import { assert, it } from "@effect/vitest"
import { dollars } from "../../src/cli/dollars.ts"

it("says amounts to the micro-USD, none as none, and what is unknown as that", () => {
  assert.deepStrictEqual([0, 1, -4234, 2_000_000, null].map(dollars), [
    "$0.00",
    "$0.000001",
    "-$0.004234",
    "$2.000000",
    "unknown",
  ])
})
