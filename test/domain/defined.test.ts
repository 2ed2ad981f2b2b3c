import { assert, it } from "@effect/vitest"
import { defined } from "../../src/domain/defined.ts"

it("defined leaves out what is undefined, and nothing else", () => {
  const members = { a: undefined, b: null, c: 0, d: "", e: false }
  assert.deepStrictEqual(Object.entries(defined(members)), [
    ["b", null],
    ["c", 0],
    ["d", ""],
    ["e", false],
  ])
})
