import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { COMMANDS } from "../support/commandPaths.ts"

describe("docs/reference/commands.md", () => {
  it("names every command", () => {
    const page = readFileSync("docs/reference/commands.md", "utf8")
    const named = [...page.matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code)
    const isNamed = (path: string) => named.some((code) => code === path || code.startsWith(`${path} `))
    assert.deepStrictEqual(
      COMMANDS.filter((path) => !isNamed(path)),
      [],
    )
  })
})
