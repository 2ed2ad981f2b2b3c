import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { withTable } from "../../scripts/docsTables.ts"

describe("scripts/docsTables.ts", () => {
  for (const page of ["docs/reference/settings.md", "docs/reference/metrics.md"] as const) {
    it(`has written the table of ${page}`, () => {
      assert.strictEqual(readFileSync(page, "utf8"), withTable(page), "run `node scripts/docsTables.ts`")
    })
  }
})
