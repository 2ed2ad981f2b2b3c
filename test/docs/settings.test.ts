import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { settingsTable } from "../support/settingsTable.ts"

const page = readFileSync("docs/settings.md", "utf8")

describe("docs/settings.md", () => {
  it("lists every setting of both servers", () => {
    assert.include(page, settingsTable())
  })
})
