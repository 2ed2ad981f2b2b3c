/** `npm run build:web`: bundles the pages that the servers show into dist/web, where they find them. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { rolldown } from "rolldown"
import { licencesOf } from "./licences.ts"
import { pathOf } from "./paths.ts"

/** Puts a file in place at once, so that a server which starts meanwhile never reads half of one. */
const place = (path: string, text: string): void => {
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, text)
  renameSync(draft, path)
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
  // A page uses at once what other programs load later, and it is served as one file.
  const { output } = await bundle.generate({ format: "esm", minify: true, codeSplitting: false })
  await bundle.close()
  place(`${target}/main.js`, output[0].code)
  place(`${target}/licences.txt`, licencesOf(output[0].moduleIds))
  place(`${target}/index.html`, source(`${page}/index.html`))
  place(`${target}/style.css`, `${source("shared/base.css")}\n${source(`${page}/${page}.css`)}`)
  place(`${target}/icon.svg`, source("shared/icon.svg"))
}
