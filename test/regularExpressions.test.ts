/**
 * No regular expression of this product takes more than linear time on any text. One that does stops the event loop, and
 * with it every request of the process: a few kilobytes of spaces in a model's answer are enough.
 */
import { globSync, readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { check } from "recheck"
import { parseAst } from "rolldown/parseAst"

interface Found {
  readonly source: string
  readonly flags: string
  readonly at: string
}

const isNamed = (node: unknown, name: string): boolean =>
  typeof node === "object" && node !== null && "name" in node && node.name === name

/** Patterns are read from the syntax tree: no pattern for patterns could tell them from divisions and comments. */
const expressionsOf = (file: string): { readonly literals: ReadonlyArray<Found>; readonly built: number } => {
  const text = readFileSync(file, "utf8")
  const literals: Array<Found> = []
  let built = 0
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) return node.forEach(visit)
    if (typeof node !== "object" || node === null) return
    if ("regex" in node && "start" in node) {
      const { flags, pattern } = node.regex as { readonly pattern: string; readonly flags: string } // As ESTree has it.
      literals.push({ source: pattern, flags, at: `${file}:${text.slice(0, Number(node.start)).split("\n").length}` })
      return
    }
    if ("callee" in node && isNamed(node.callee, "RegExp")) built++
    Object.values(node).forEach(visit)
  }
  visit(parseAst(text, { lang: file.endsWith("x") ? "tsx" : "ts" }, file))
  return { literals, built }
}

const files = globSync("src/**/*.{ts,tsx}")

describe("regular expressions in src", () => {
  it("are all literals, so that this test can examine them", () => {
    assert.deepStrictEqual(
      files.filter((file) => expressionsOf(file).built > 0),
      [],
    )
  })

  it("take linear time on every text", async () => {
    const literals = files.flatMap((file) => expressionsOf(file).literals)
    assert.isAbove(literals.length, 50)
    const slow: Array<string> = []
    for (const { at, flags, source } of literals) {
      // Its own limit of ten seconds a pattern leaves patterns unknown on a busy machine.
      const found = await check(source, flags, { timeout: null })
      if (found.status === "safe") continue
      slow.push(`${at} /${source}/${flags}: ${found.status === "vulnerable" ? found.complexity.summary : "not known"}`)
    }
    assert.deepStrictEqual(slow, [])
  })
})
