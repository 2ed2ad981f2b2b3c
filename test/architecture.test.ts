/** The rooms of `src/` and the arrows between them are what docs/explanation/architecture.md says. */
import { globSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { parseAst } from "rolldown/parseAst"

const PAGE = readFileSync("docs/explanation/architecture.md", "utf8")

/** Each room of the page's table, and the rooms that it may import. */
const allowed = new Map(
  [...PAGE.matchAll(/^\| `([\w.]+)` \|[^|]*\|([^|]*)\|$/gm)].map(([, room = "", names = ""]) => [
    room,
    [...names.matchAll(/`([\w.]+)`/g)].map(([, name = ""]) => name),
  ]),
)

const files = globSync("src/**/*.{ts,tsx}")

/** A file's room: the folder of `src/` that it is in, or its own name at the top. */
const roomOf = (file: string): string => relative("src", file).split("/")[0] ?? ""

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

/** A way from `file` back to itself, or nothing. */
const circleOf = (file: string): ReadonlyArray<string> | undefined => {
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

describe("architecture", () => {
  it("names every room, and no other", () => {
    assert.deepStrictEqual([...allowed.keys()].sort(), [...new Set(files.map(roomOf))].sort())
  })

  it("has no arrow between rooms that the page does not show", () => {
    assert.isAbove([...imports.values()].flat().length, files.length)
    const wrong = [...imports].flatMap(([file, targets]) =>
      targets
        .filter((target) => roomOf(target) !== roomOf(file) && !allowed.get(roomOf(file))?.includes(roomOf(target)))
        .map((target) => `${file} → ${target}`),
    )
    assert.deepStrictEqual(wrong, [])
  })

  it("shows no arrow that is not there", () => {
    const arrows = new Set([...imports].flatMap(([file, to]) => to.map((path) => `${roomOf(file)} → ${roomOf(path)}`)))
    const idle = [...allowed].flatMap(([room, names]) => names.map((name) => `${room} → ${name}`))
    assert.deepStrictEqual(
      idle.filter((arrow) => !arrows.has(arrow)),
      [],
    )
  })

  it("has no circle of files", () => {
    const circles = files.flatMap((file) => circleOf(file)?.join(" → ") ?? [])
    assert.deepStrictEqual(circles, [])
  })

  it("names only files that are there", () => {
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
