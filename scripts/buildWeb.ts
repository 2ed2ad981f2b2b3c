/** `npm run build:web`: bundles the pages that the servers show into dist/web, where they find them. */
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { rolldown } from "rolldown"

const pathOf = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))

/** Puts a file in place at once, so that a server which starts meanwhile never reads half of one. */
const place = (path: string, text: string): void => {
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, text)
  renameSync(draft, path)
}

/** The licences of the packages that `modules` are of, which have to go with every copy of them. */
const licencesOf = (modules: ReadonlyArray<string>): string => {
  const folders = modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id)?.[0] ?? [])
  return [...new Set(folders)]
    .sort()
    .map((folder) => {
      const name = folder.slice(folder.lastIndexOf("/node_modules/") + "/node_modules/".length)
      const licence = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file))
      if (licence === undefined) throw new Error(`${name} comes without its licence`)
      return `${name}\n\n${readFileSync(join(folder, licence), "utf8").trim()}\n`
    })
    .join(`\n${"-".repeat(80)}\n\n`)
}

const source = (path: string): string => readFileSync(pathOf(`src/web/${path}`), "utf8")

for (const page of ["proxy", "gateway", "reference"]) {
  const target = pathOf(`dist/web/${page}`)
  mkdirSync(target, { recursive: true })
  const bundle = await rolldown({
    input: pathOf(`src/web/${page}/main.tsx`),
    platform: "browser",
    tsconfig: pathOf("src/web/tsconfig.json"),
    logLevel: "warn",
  })
  const { output } = await bundle.generate({ format: "esm", minify: true })
  await bundle.close()
  place(`${target}/main.js`, output[0].code)
  place(`${target}/licences.txt`, licencesOf(output[0].moduleIds))
  place(`${target}/index.html`, source(`${page}/index.html`))
  place(`${target}/style.css`, `${source("shared/base.css")}\n${source(`${page}/${page}.css`)}`)
  place(`${target}/icon.svg`, source("shared/icon.svg"))
}
