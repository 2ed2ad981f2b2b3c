/**
 * `npm run test:package`: packs the package, installs it into an empty project, and uses it there as its users would:
 * the command, the client in Node, its types, and the client in a browser bundle.
 */
import { execFileSync } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { gzipSync } from "node:zlib"
import { rolldown } from "rolldown"

/** Largest browser bundle of the client, gzipped, before the post-quantum part loads. */
const MAX_BUNDLE_BYTES = 30_000
const FORBIDDEN = /\.(ts|map)$|^package\/(src|test|examples|bench|scripts)\//

const folder = mkdtempSync(join(tmpdir(), "sealgate-package-"))
const run = (command: string, args: ReadonlyArray<string>, cwd = folder): string =>
  execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] })

const check = (what: string, holds: boolean): void => {
  if (!holds) throw new Error(`failed: ${what}`)
  console.log(`✓ ${what}`)
}

/** The files of a browser bundle; the first has the entry, and those that it cannot do without count as loaded with it. */
const bundle = async (entry: string) => {
  const build = await rolldown({ input: entry, platform: "browser", logLevel: "silent" })
  const { output } = await build.generate({ format: "esm", minify: true })
  await build.close()
  const files = output.filter((file) => file.type === "chunk")
  const loaded = files.filter((file, index) => index === 0 || files[0]?.imports.includes(file.fileName))
  return { files, loaded }
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

  const program = `import { SealedClient, verifyReceipt } from "sealgate/client"
const client: SealedClient = new SealedClient({ baseUrl: "http://localhost:3001", pins: ["x"] })
const check: (receipt: string) => Promise<{ readonly jti: string | null }> = (receipt) =>
  verifyReceipt(receipt, { pins: client.pins, keys: { keys: [] } })
console.log(client.pins.length, typeof check)
`
  writeFileSync(join(folder, "program.ts"), program)
  check("the client in Node", run(process.execPath, ["program.ts"]).trim() === "1 function")
  const tsc = resolve("node_modules/.bin/tsc")
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
  run(tsc, [...options, "program.ts"])
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

  writeFileSync(join(folder, "browser.js"), 'export { SealedClient } from "sealgate/client"\n')
  const { files: parts, loaded } = await bundle(join(folder, "browser.js"))
  const bytes = loaded.reduce((sum, { code }) => sum + gzipSync(code).length, 0)
  check(`the client as a browser bundle: ${(bytes / 1000).toFixed(1)} kB gzipped`, bytes < MAX_BUNDLE_BYTES)
  const modules = parts.flatMap(({ moduleIds }) => moduleIds)
  check("the post-quantum part is loaded when it is used", loaded.length < parts.length)
  check("no Effect in it", !modules.some((id) => id.includes("/node_modules/effect/")))
  const code = parts.map((part) => part.code).join("\n")
  check("no Node import in it", !/from\s*["']node:|require\(["']node:|import\(["']node:/.test(code))
  for (const part of parts) writeFileSync(join(folder, part.fileName), part.code)
  const load = `import("./${parts[0]?.fileName}").then((m) => console.log(new m.SealedClient({ baseUrl: "http://x" }).pins.length))`
  check("the bundle loads", run(process.execPath, ["-e", load]).trim() === "0")
} finally {
  rmSync(folder, { recursive: true, force: true })
}
