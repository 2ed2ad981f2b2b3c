import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { isObject } from "../../../src/domain/json/json.ts"
import { objectIn } from "../../../src/domain/json/objectIn.ts"

const limits = { depth: 3, values: 5 }

describe("an object that a model wrote", () => {
  it.each([
    ['{"a":[[1]]}', true],
    ['{"a":[[{}]]}', false],
    ['{"a":1,"b":2,"c":3,"d":4,"e":5}', true],
    ['{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}', false],
    ['{"a":"[[[[{{,,,,,,,,"}', true],
    ['{"a":"\\\\","b":[[[1]]]}', false],
    ['{"a":"\\",,,,,,,,"}', true],
    ['{"half":"\\ud800"}', true],
    ["[1]", false],
    ["{", false],
  ])("is read within its levels and values: %s", (text, isRead) => {
    assert.deepStrictEqual(objectIn(text, limits), isRead ? JSON.parse(text) : undefined)
  })

  it("is read, whatever its content", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const value: unknown = JSON.parse(text)
        assert.deepStrictEqual(objectIn(text), isObject(value) ? value : undefined)
      }),
    )
  })
})
