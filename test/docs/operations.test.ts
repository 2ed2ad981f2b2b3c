import { readdirSync, readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { proxySettings } from "../../src/layers/config/proxySettings.ts"
import { settingsTable } from "../support/settingsTable.ts"

const operations = readFileSync("docs/operations.md", "utf8")

const sources = readdirSync("src", { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts"))
  .map((path) => readFileSync(`src/${path}`, "utf8"))

describe("docs/operations.md", () => {
  it("lists every setting of the proxy as it is", () => {
    assert.include(operations, settingsTable(proxySettings))
  })

  it("names every metric, and none that does not exist", () => {
    const made = sources.flatMap((source) => [
      ...source.matchAll(/Metric\.(?:counter|gauge|histogram)\(\s*"([a-z_]+)"/g),
    ])
    const metrics = new Set(made.map(([, name]) => name))
    const documented = new Set([...operations.matchAll(/`(sealgate_[a-z_]+)`/g)].map(([, name]) => name))
    assert.isAbove(metrics.size, 10)
    assert.deepStrictEqual([...documented].sort(), [...metrics].sort())
  })
})
