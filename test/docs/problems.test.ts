/** Compares docs/reference/problems.md with the codes of servers and clients. */
import { globSync, readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { CALLED_BY_SEALGATE, NOT_SEALED } from "../../src/domain/operations/software.ts"
import { failureCodes } from "../../src/domain/upstream/failures.ts"

const page = readFileSync("docs/reference/problems.md", "utf8")

/** The documented statuses of each code. */
const documented = new Map<string, ReadonlyArray<string>>()
for (const [, codes = "", status = "", cause = "", cure = ""] of page.matchAll(
  /^- (`[^:(]+`)(?: \(([\d, ]+)\))?: (.*?)\. \*(.*?)\.\*$/gm,
)) {
  for (const [, code = ""] of codes.matchAll(/`([\w-]+)`/g)) {
    assert.isAbove(Math.min(cause.length, cure.length), 3, code)
    documented.set(code, [...(documented.get(code) ?? []), ...status.split(", ")])
  }
}

/** The command and the kit only read codes. */
const sources = globSync("src/**/*.{ts,tsx}")
  .filter((path) => !/^src\/(cli|conformance|web)\//.test(path))
  .map((path) => readFileSync(path, "utf8"))

const CONSTANTS: Readonly<Record<string, string>> = { NOT_SEALED, CALLED_BY_SEALGATE }

const constantOf = (name: string): string => {
  const code = CONSTANTS[name]
  if (code === undefined) throw new Error(`give the value of ${name} in CONSTANTS, and its entry on the page`)
  return code
}

const codesIn = (source: string): ReadonlyArray<string> => [
  ...Array.from(source.matchAll(/\bcode(?:: "[^=\n]*" =|:| =) "([a-z][a-z_-]*)"/g), ([, code = ""]) => code),
  ...Array.from(source.matchAll(/\bcode: ([A-Z][A-Z_]+)\b/g), ([, name = ""]) => constantOf(name)),
  ...Array.from(source.matchAll(/\bget code\(\): (.*) \{/g), ([, type = ""]) => type.match(/[a-z-]{3,}/g) ?? []).flat(),
]

/** Codes with their status beside them. */
const PAIR =
  /\bcode: (?:"([a-z_-]+)"|([A-Z_]+)),\s*status: (\d{3})|\bstatus: (\d{3}),\s*code: (?:"([a-z_-]+)"|([A-Z_]+))/g

describe("docs/reference/problems.md", () => {
  it("has an entry with cause and cure for every code, and for no others", () => {
    const codes = new Set([...sources.flatMap(codesIn), ...Object.keys(failureCodes)])
    assert.isAbove(codes.size, 60)
    assert.deepStrictEqual([...documented.keys()].toSorted(), [...codes].toSorted())
  })

  it("has the status of every code", () => {
    const pairs = sources.flatMap((source) =>
      Array.from(source.matchAll(PAIR), ([, code, name, after, before, code2, name2]) => ({
        code: code ?? code2 ?? constantOf(name ?? name2 ?? ""),
        status: after ?? before ?? "",
      })),
    )
    const ofProviders = Object.entries(failureCodes).map(([code, { status }]) => ({ code, status: String(status) }))
    assert.isAbove(pairs.length, 40)
    for (const { code, status } of [...pairs, ...ofProviders]) assert.include(documented.get(code) ?? [], status, code)
  })
})
