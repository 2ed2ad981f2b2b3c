import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { proxySettings } from "../../src/layers/config/proxySettings.ts"
import { settingsTable } from "../support/settingsTable.ts"

const operations = readFileSync("docs/operations.md", "utf8")

describe("docs/operations.md", () => {
  it("lists every setting of the proxy as it is", () => {
    assert.include(operations, settingsTable(proxySettings))
  })
})
