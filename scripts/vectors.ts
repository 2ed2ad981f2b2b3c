/**
 * `node scripts/vectors.ts` writes docs/protocol/vectors.json; with `--check` it writes nothing and fails when the file
 * is not what it would write. The values come from the reference implementation, never from the product.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { SOFTWARE } from "../src/domain/software.ts"
import { makeVectors } from "../test/support/protocol/vectors.ts"

const FILE = new URL("../docs/protocol/vectors.json", import.meta.url)

const expected = `${JSON.stringify(await makeVectors(SOFTWARE), null, 2)}\n`
if (!process.argv.includes("--check")) writeFileSync(FILE, expected)
else if (readFileSync(FILE, "utf8") !== expected) {
  console.error(
    "docs/protocol/vectors.json differs from the reference: run node scripts/vectors.ts and review the diff",
  )
  process.exitCode = 1
}
