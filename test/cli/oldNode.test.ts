/** The command on a Node that cannot run it. */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { NEEDED, whyTooOld } from "../../src/cli/nodeVersion.ts"

const COMMAND = new URL("../../dist/cli/main.js", import.meta.url).pathname

/** Nodes of this machine other than the one that runs the tests. */
const oldNode = ["/usr/bin/node", "/usr/local/bin/node"].find((node) => {
  const { status, stdout } = spawnSync(node, ["-p", "JSON.stringify(process.versions)"], { encoding: "utf8" })
  return status === 0 && whyTooOld(JSON.parse(stdout), node) !== undefined
})

describe("the command on an old Node", () => {
  it("requires the version in package.json", () => {
    const { engines } = JSON.parse(readFileSync("package.json", "utf8")) as {
      readonly engines: { readonly node: string }
    }
    assert.strictEqual(engines.node, `>=${NEEDED}`)
    for (const version of ["24.7.0", "24.12.1", "25.0.0", "26.10.0"]) {
      assert.isUndefined(whyTooOld({ node: version, openssl: "3.5.2" }, "node"))
    }
    for (const version of ["24.6.9", "22.20.0", "20.20.2", "8.0.0"]) {
      assert.include(whyTooOld({ node: version, openssl: "3.5.2" }, "/bin/node"), `this is Node ${version} (/bin/node)`)
    }
  })

  it("requires an OpenSSL with ML-KEM, which Nodes of Linux distributions may lack", () => {
    for (const openssl of ["3.5.0", "3.5.8", "3.6.1+quic", "4.0.0"]) {
      assert.isUndefined(whyTooOld({ node: "24.14.1", openssl }, "node"))
    }
    for (const openssl of ["3.4.1", "3.2.2", "1.1.1", "0.0.0"]) {
      const problem = `needs a Node with OpenSSL 3.5.0 or newer; this Node 24.14.1 (/bin/node) uses OpenSSL ${openssl}.`
      assert.include(whyTooOld({ node: "24.14.1", openssl }, "/bin/node"), problem)
    }
  })

  it("starts from a file that imports and awaits nothing before it checks the version", () => {
    const entry = readFileSync(COMMAND, "utf8")
    assert.match(entry, /^#!\/usr\/bin\/env node\n/)
    assert.notMatch(entry, /^import |^export .* from|\?\?|\?\.|^await /m)
    assert.match(entry, /import\("\.\/chunks\/start-/)
  })

  it.skipIf(oldNode === undefined)("names the version that it needs and how to get it", () => {
    const { status, stderr, stdout } = spawnSync(oldNode ?? "", [COMMAND, "pin"], { encoding: "utf8" })
    assert.deepStrictEqual([status, stdout], [1, ""])
    assert.match(stderr, /^sealgate needs Node 24\.7\.0 or newer; this is Node \d+/)
    assert.include(stderr, "https://nodejs.org")
    assert.strictEqual(stderr.trim().split("\n").length, 3)
  })
})
