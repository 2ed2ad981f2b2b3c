import { assert, it } from "@effect/vitest"
import { withoutUndefined } from "../../../src/domain/json/withoutUndefined.ts"

it("withoutUndefined leaves out what is undefined, and nothing else", () => {
  const members = { a: undefined, b: null, c: 0, d: "", e: false }
  assert.deepStrictEqual(Object.entries(withoutUndefined(members)), [
    ["b", null],
    ["c", 0],
    ["d", ""],
    ["e", false],
  ])
})
