/**
 * `npm run test:package`: packs the package, installs it into an empty project, and uses the command, the embedded servers,
 * and the gateway's client with its types.
 */
import { execFileSync } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"

const FORBIDDEN = /\.(ts|map)$|^package\/(src|test|examples|bench|scripts)\//

const folder = mkdtempSync(join(tmpdir(), "sealgate-package-"))
const run = (command: string, args: ReadonlyArray<string>, cwd = folder): string =>
  execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] })

const check = (what: string, holds: boolean): void => {
  if (!holds) throw new Error(`failed: ${what}`)
  console.log(`✓ ${what}`)
}

try {
  run("npm", ["pack", "--silent", "--pack-destination", folder], resolve("."))
  const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz")) ?? ""
  const files = run("tar", ["tzf", tarball]).trim().split("\n")
  const extra = files.filter((file) => FORBIDDEN.test(file) && !file.endsWith(".d.ts"))
  check(`the package holds ${files.length} files and nothing but what users need`, extra.length === 0)

  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "user", private: true, type: "module" }))
  run("npm", ["install", "--silent", "--no-audit", "--no-fund", `./${tarball}`])
  check("npx sealgate --help", run("npx", ["sealgate", "--help"]).includes("START HERE"))

  const program = `import { GatewayClient } from "sealgate/gateway-client"
const client: GatewayClient = new GatewayClient({ baseUrl: "http://localhost:3000", token: "x" })
console.log(typeof client.agents.create)
`
  writeFileSync(join(folder, "program.ts"), program)
  check("the gateway's client in Node", run(process.execPath, ["program.ts"]).trim() === "function")
  const options = [
    "--module",
    "nodenext",
    "--strict",
    "--noEmit",
    "--skipLibCheck",
    "--lib",
    "esnext,dom",
    "--types",
    "",
  ]
  run(resolve("node_modules/.bin/tsc"), [...options, "program.ts"])
  check("its types", true)

  const gateway = 'import { Gateway } from "sealgate"; console.log(typeof Gateway.start)'
  check("the servers, embedded", run(process.execPath, ["--input-type=module", "-e", gateway]).trim() === "function")

  const page = `import { Gateway } from "sealgate"
const gateway = await Gateway.start({ dev: true, port: 0, logLevel: "none" })
const statuses = await Promise.all(["", "/main.js", "/style.css"].map(async (file) => (await fetch(gateway.url + "/console" + file)).status))
console.log(...statuses)
await gateway.stop()
`
  const statuses = run(process.execPath, ["--input-type=module", "-e", page]).trim()
  check(`its console: ${statuses}`, statuses.endsWith("200 200 200"))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
