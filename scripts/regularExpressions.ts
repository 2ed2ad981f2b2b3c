/** Checks that every regular expression takes linear time: a slow one would stop the event loop for all requests. */
import { globSync, readFileSync } from "node:fs"
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

const found = globSync("src/**/*.{ts,tsx}").map((file) => ({ file, ...expressionsOf(file) }))
const literals = found.flatMap((each) => each.literals)
const mistakes = found
  .filter(({ built }) => built > 0)
  .map(({ file }) => `${file}: builds a regular expression, which cannot be examined; write a literal`)
if (literals.length < 50) mistakes.push(`only ${literals.length} regular expressions found in src; there were over 50`)
for (const { at, flags, source } of literals) {
  // recheck's own limit of ten seconds a pattern leaves patterns unknown on a busy machine.
  const result = await check(source, flags, { timeout: null })
  if (result.status === "safe") continue
  const time = result.status === "vulnerable" ? result.complexity.summary : "not known"
  mistakes.push(`${at}: /${source}/${flags} may take more than linear time: ${time}`)
}
for (const mistake of mistakes) console.error(mistake)
process.exit(mistakes.length === 0 ? 0 : 1)
