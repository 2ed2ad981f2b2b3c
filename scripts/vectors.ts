/** Writes the vectors in docs/protocol from the reference implementation; with `--check` fails if a file differs. */
import { readFileSync, writeFileSync } from "node:fs"
import { SOFTWARE } from "../src/domain/operations/software.ts"
import { makeNegatives } from "../test/support/protocol/negatives.ts"
import { makeVectors } from "../test/support/protocol/vectors.ts"

const vectors = await makeVectors(SOFTWARE)

for (const [name, value] of [
  ["vectors.json", vectors],
  ["negative.json", await makeNegatives(vectors)],
] as const) {
  const file = new URL(`../docs/protocol/${name}`, import.meta.url)
  const expected = `${JSON.stringify(value, null, 2)}\n`
  if (!process.argv.includes("--check")) writeFileSync(file, expected)
  else if (readFileSync(file, "utf8") !== expected) {
    console.error(`docs/protocol/${name} differs from the reference: run node scripts/vectors.ts and review the diff`)
    process.exitCode = 1
  }
}
