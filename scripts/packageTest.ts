/** `npm run test:package`: installs the packed package into an empty project and uses all of it there. */
import { execFileSync } from "node:child_process"
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { check, emptyFolder, install, pack, startProject } from "./packed.ts"
import { pathOf } from "./paths.ts"

const FORBIDDEN = /\.(ts|map)$|^package\/(src|test|examples|bench|scripts)\//

const folder = emptyFolder()
const run = (command: string, args: ReadonlyArray<string>): string =>
  execFileSync(command, args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] })

try {
  const tarball = pack(".", folder)
  const files = run("tar", ["tzf", tarball]).trim().split("\n")
  const extra = files.filter((file) => FORBIDDEN.test(file) && !file.endsWith(".d.ts"))
  check(`the package holds ${files.length} files and nothing but what users need`, extra.length === 0)

  startProject(folder)
  install(folder, [tarball])
  check("npx sealgate --help", run("npx", ["sealgate", "--help"]).includes("START HERE"))

  const program = `import { GatewayClient } from "sealgate/gateway-client"
const client: GatewayClient = new GatewayClient({ baseUrl: "http://localhost:3000", token: "x" })
console.log(typeof client.agents.create)
`
  writeFileSync(join(folder, "program.ts"), program)
  check("the gateway's client in Node", run(process.execPath, ["program.ts"]).trim() === "function")
  const options = "--module nodenext --strict --noEmit --skipLibCheck --lib esnext,dom".split(" ")
  run(pathOf("node_modules/.bin/tsc"), [...options, "--types", "", "program.ts"])
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
