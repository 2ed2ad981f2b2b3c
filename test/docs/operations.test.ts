import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { settingsTable } from "../support/settingsTable.ts"

const operations = readFileSync("docs/operations.md", "utf8")

describe("docs/operations.md", () => {
  it("lists every setting of both servers as it is", () => {
    assert.include(operations, settingsTable())
  })
})
