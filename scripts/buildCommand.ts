/**
 * Bundles the `sealgate` command with Effect's packages into dist/cli: loading some 25 files instead of 1,000 takes a
 * quarter of the time. The other packages that it depends on stay outside, where tools that look for vulnerable ones
 * find them; what only Effect's depend on would not be found from here, and comes with them.
 */
import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import http from "node:http"
import { type Plugin, rolldown } from "rolldown"
import { licencesOf } from "./licences.ts"
import { pathOf } from "./paths.ts"

const { dependencies, optionalDependencies }: PackageFile = JSON.parse(readFileSync(pathOf("package.json"), "utf8"))
interface PackageFile {
  readonly dependencies: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
}
const OUTSIDE = Object.keys({ ...dependencies, ...optionalDependencies }).filter(
  (name) => !/^(@effect\/|effect$)/.test(name),
)
const isOutside = (id: string): boolean =>
  id.startsWith("node:") || OUTSIDE.some((name) => id === name || id.startsWith(`${name}/`))

/**
 * Node's HTTP as its own `require` gives it. An import reads all of its members once, and one of them is a WebSocket client
 * that loads all of `fetch`: that takes a tenth of a start.
 */
const HTTP = "node:http"
const plainHttp: Plugin = {
  name: "plain-http",
  resolveId: (id) => (id === HTTP ? `\0${HTTP}` : null),
  load: (id) => {
    if (id !== `\0${HTTP}`) return null
    const values = Object.entries(Object.getOwnPropertyDescriptors(http)).filter(([, { get }]) => get === undefined)
    const names = values.map(([name]) => name).join(", ")
    return `const http = process.getBuiltinModule("${HTTP}")\nexport default http\nexport const { ${names} } = http\n`
  },
}

const folder = pathOf("dist/cli")
rmSync(folder, { recursive: true, force: true })
const bundle = await rolldown({
  input: { main: pathOf("src/cli/main.ts") },
  platform: "node",
  external: (id) => id !== HTTP && isOutside(id),
  plugins: [plainHttp],
  resolve: { conditionNames: ["@sealgate/source", "node", "import", "default"] },
  logLevel: "silent",
})
// The servers find their pages from a chunk as from a source: three folders up.
// Comments are some two fifths of it; names and lines stay as they are for those who read a stack.
const { output } = await bundle.write({
  dir: folder,
  format: "esm",
  chunkFileNames: "chunks/[name]-[hash].js",
  comments: false,
})
await bundle.close()
const modules = output.flatMap((chunk) => (chunk.type === "chunk" ? chunk.moduleIds : []))
writeFileSync(`${folder}/licences.txt`, licencesOf(modules))
chmodSync(`${folder}/main.js`, 0o755)
