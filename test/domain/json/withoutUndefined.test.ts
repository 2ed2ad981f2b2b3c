import { assert, it } from "@effect/vitest"
import { withoutUndefined } from "../../../src/domain/json/withoutUndefined.ts"

it("withoutUndefined removes exactly the undefined members", () => {
  const members = { a: undefined, b: null, c: 0, d: "", e: false }
  assert.deepStrictEqual(Object.entries(withoutUndefined(members)), [
    ["b", null],
    ["c", 0],
    ["d", ""],
    ["e", false],
  ])
})
