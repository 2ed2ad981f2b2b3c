import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { isWithinJsonLimits, MAX_JSON_DEPTH, MAX_JSON_VALUES } from "../../src/domain/jsonLimits.ts"

const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth)
const flat = (values: number): string => `[${Array.from({ length: values }, () => "1").join(",")}]`

describe("the limits of JSON", () => {
  it("are where they say", () => {
    assert.isTrue(isWithinJsonLimits(nested(MAX_JSON_DEPTH)))
    assert.isFalse(isWithinJsonLimits(nested(MAX_JSON_DEPTH + 1)))
    assert.isFalse(isWithinJsonLimits('{"a":'.repeat(MAX_JSON_DEPTH + 1) + "1" + "}".repeat(MAX_JSON_DEPTH + 1)))
    assert.isTrue(isWithinJsonLimits(flat(MAX_JSON_VALUES - 1)))
    assert.isFalse(isWithinJsonLimits(flat(MAX_JSON_VALUES)))
    assert.isFalse(isWithinJsonLimits(`[${"[],".repeat(MAX_JSON_VALUES / 2)}1]`))
  })

  it("count what stands next to each other as levels that were left", () => {
    assert.isTrue(isWithinJsonLimits(`[${`${nested(MAX_JSON_DEPTH - 1)},`.repeat(100)}1]`))
  })

  it("do not look into strings, whatever their quotes and backslashes", () => {
    const brackets = "[{,".repeat(MAX_JSON_VALUES)
    for (const text of [brackets, `\\${brackets}`, `${brackets}\\`, `"${brackets}"`, `\\"${brackets}\\\\"`]) {
      assert.isTrue(isWithinJsonLimits(JSON.stringify({ [text]: text })))
      assert.isFalse(isWithinJsonLimits(`[${JSON.stringify(text)},${nested(MAX_JSON_DEPTH)}]`))
    }
  })

  it("are never exceeded by text that has fewer levels and values", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 8 }), (text) => {
        assert.isTrue(isWithinJsonLimits(text))
        assert.isFalse(isWithinJsonLimits("[".repeat(MAX_JSON_DEPTH) + `[${text}]` + "]".repeat(MAX_JSON_DEPTH)))
      }),
    )
  })

  it("bear text that is not JSON", () => {
    for (const text of ["", '"', '"\\', "]]]]", '{"a', "\\", '\\"[['])
      assert.isTrue(isWithinJsonLimits(text), JSON.stringify(text))
  })
})
