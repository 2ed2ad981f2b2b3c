/** Every page states its purpose, is short, and its links lead to files and headings. */
import { existsSync, globSync, readFileSync } from "node:fs"
import { dirname, join, normalize } from "node:path"
import { assert, describe, it } from "@effect/vitest"

const pages = new Map(
  ["README.md", "CONTRIBUTING.md", "SECURITY.md", ...globSync("docs/**/*.md")].map((path) => [
    path,
    readFileSync(path, "utf8"),
  ]),
)

/** Returns GitHub's anchor for a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, "")
    .replaceAll(" ", "-")

const anchorsOf = (page: string): ReadonlySet<string> =>
  new Set([...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => anchorOf(heading)))

/** Returns the relative links of a page, without those in code. */
const linksOf = (page: string): ReadonlyArray<string> =>
  [...page.replaceAll(/^```[^]*?^```/gm, "").matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = ""]) => link)
    .filter((link) => !/^[a-z]+:/.test(link))

/** As `wc -w` counts. */
const wordsOf = (text: string): number => text.split(/\s+/).filter((word) => word !== "").length

const MAX_WORDS = { page: 1600, all: 30_000 }

describe("every page of the documentation", () => {
  it("has at most 1,600 words, and all together at most 30,000", () => {
    const counted = [...pages].map(([path, text]) => ({ path, words: wordsOf(text) }))
    assert.deepStrictEqual(
      counted.filter(({ words }) => words > MAX_WORDS.page),
      [],
    )
    assert.isAtMost(
      counted.filter(({ path }) => path !== "SECURITY.md").reduce((sum, { words }) => sum + words, 0),
      MAX_WORDS.all,
    )
  })

  for (const path of globSync("docs/{explanation,how-to,reference}/*.md")) {
    it(`${path} says in its first lines what its reader can do afterwards`, () => {
      const [, , first = ""] = (pages.get(path) ?? "").split("\n")
      assert.match(first, /^After this page you (can|know) /)
    })
  }

  it("links to existing files and headings", () => {
    const broken = [...pages].flatMap(([path, page]) =>
      linksOf(page)
        .filter((link) => {
          const [file = "", anchor] = link.split("#")
          const target = file === "" ? path : normalize(join(dirname(path), file))
          if (!existsSync(target)) return true
          const text = pages.get(target)
          return anchor !== undefined && text !== undefined && !anchorsOf(text).has(anchor)
        })
        .map((link) => `${path}: ${link}`),
    )
    assert.deepStrictEqual(broken, [])
  })
})

describe("docs/faq.md", () => {
  it("quotes messages as the programs print them", () => {
    const sources = globSync("src/**/*.ts")
      .map((path) => readFileSync(path, "utf8"))
      .join("\n")
    const quoted = [...(pages.get("docs/faq.md") ?? "").matchAll(/^\*\*"(.*?)"/gm)].map(([, quote = ""]) => quote)
    assert.isAbove(quoted.length, 4)
    // An ellipsis stands for a value.
    for (const part of quoted.flatMap((quote) => quote.split(" … "))) assert.include(sources, part)
  })
})
