import { assert, describe, it } from "vitest"
import { table } from "../../src/cli/table.ts"

describe("a table", () => {
  it("lines up any number of rows", () => {
    const rows = Array.from({ length: 150_000 }, (_, i) => [String(i), "x"])
    assert.deepStrictEqual(table(rows).split("\n").slice(-1), ["149999  x"])
    assert.strictEqual(table(rows).split("\n")[0], "0       x")
  })
})
