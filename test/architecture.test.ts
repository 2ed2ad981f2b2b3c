/** Checks the imports of `src/` against docs/explanation/architecture.md. */
import { globSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { parseAst } from "rolldown/parseAst"

const PAGE = readFileSync("docs/explanation/architecture.md", "utf8")

/** Each module of the page's table, and the modules that it may import. */
const allowed = new Map(
  [...PAGE.matchAll(/^\| `([\w.]+)` \|[^|]*\|([^|]*)\|$/gm)].map(([, module = "", names = ""]) => [
    module,
    [...names.matchAll(/`([\w.]+)`/g)].map(([, name = ""]) => name),
  ]),
)

const files = globSync("src/**/*.{ts,tsx}")

/** A file's module: its folder below `src/`, or the file itself if it is directly in `src/`. */
const moduleOf = (file: string): string => relative("src", file).split("/")[0] ?? ""

/** Every relative import of a file, types included, as a path from the top. */
const importsOf = (file: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) return node.forEach(visit)
    if (typeof node !== "object" || node === null) return
    if ("type" in node && typeof node.type === "string" && /^(Import|Export)/.test(node.type) && "source" in node) {
      const source = node.source
      if (typeof source === "object" && source !== null && "value" in source && typeof source.value === "string") {
        if (source.value.startsWith(".")) found.push(join(dirname(file), source.value))
      }
    }
    Object.values(node).forEach(visit)
  }
  visit(parseAst(readFileSync(file, "utf8"), { lang: file.endsWith("x") ? "tsx" : "ts" }, file))
  return found
}

const imports = new Map(files.map((file) => [file, importsOf(file).filter((path) => files.includes(path))]))

/** An import path from `file` back to itself, if there is one. */
const cycleOf = (file: string): ReadonlyArray<string> | undefined => {
  const seen = new Set<string>()
  const walk = (path: ReadonlyArray<string>): ReadonlyArray<string> | undefined => {
    for (const next of imports.get(path.at(-1) ?? "") ?? []) {
      if (next === file) return [...path, next]
      if (seen.has(next)) continue
      seen.add(next)
      const found = walk([...path, next])
      if (found !== undefined) return found
    }
    return undefined
  }
  return walk([file])
}

describe("docs/explanation/architecture.md", () => {
  it("names every module, and no other", () => {
    assert.deepStrictEqual([...allowed.keys()].sort(), [...new Set(files.map(moduleOf))].sort())
  })

  it("allows every import that exists", () => {
    assert.isAbove([...imports.values()].flat().length, files.length)
    const wrong = [...imports].flatMap(([file, targets]) =>
      targets
        .filter(
          (target) => moduleOf(target) !== moduleOf(file) && !allowed.get(moduleOf(file))?.includes(moduleOf(target)),
        )
        .map((target) => `${file} → ${target}`),
    )
    assert.deepStrictEqual(wrong, [])
  })

  it("lists no import that does not exist", () => {
    const found = new Set(
      [...imports].flatMap(([file, to]) => to.map((path) => `${moduleOf(file)} → ${moduleOf(path)}`)),
    )
    const listed = [...allowed].flatMap(([module, names]) => names.map((name) => `${module} → ${name}`))
    assert.deepStrictEqual(
      listed.filter((edge) => !found.has(edge)),
      [],
    )
  })

  it("has no import cycle", () => {
    const cycles = files.flatMap((file) => cycleOf(file)?.join(" → ") ?? [])
    assert.deepStrictEqual(cycles, [])
  })

  it("names only files that exist", () => {
    // A path, or a file in the folder that begins its item.
    const named = PAGE.split(/^\d\. /m).flatMap((item) => {
      const [, folder = ""] = /^`(src\/[\w/]+\/)`/.exec(item) ?? []
      const paths = [...item.matchAll(/`(src\/[\w./-]+)`/g)].map(([, path = ""]) => path)
      const short = folder === "" ? [] : [...item.matchAll(/`(\w+\.ts)`/g)].map(([, file = ""]) => folder + file)
      return [...paths, ...short]
    })
    const folders = new Set(files.map((file) => `${dirname(file)}/`))
    assert.deepStrictEqual(
      named.filter(
        (path) =>
          path !== "src/" &&
          !files.includes(path) &&
          !folders.has(path) &&
          ![...folders].some((folder) => folder.startsWith(path)),
      ),
      [],
    )
  })
})
