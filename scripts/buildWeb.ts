/** `npm run build:web`: bundles the pages into dist/web, where the servers find them. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { rolldown } from "rolldown"
import { licencesOf } from "./licences.ts"
import { pathOf } from "./paths.ts"

/** Replaces a file atomically, so that a starting server never reads half of it. */
const place = (path: string, text: string): void => {
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, text)
  renameSync(draft, path)
}

const source = (path: string): string => readFileSync(pathOf(`src/web/${path}`), "utf8")

const folderOf = (page: string): string => {
  const target = pathOf(`dist/web/${page}`)
  mkdirSync(target, { recursive: true })
  return target
}

for (const page of ["proxy", "gateway"]) {
  const target = folderOf(page)
  const bundle = await rolldown({
    input: pathOf(`src/web/${page}/main.tsx`),
    platform: "browser",
    tsconfig: pathOf("src/web/tsconfig.json"),
    logLevel: "warn",
  })
  // The page needs lazily loaded modules at once and is served as one file.
  const { output } = await bundle.generate({ format: "esm", minify: true, codeSplitting: false })
  await bundle.close()
  place(`${target}/main.js`, output[0].code)
  place(`${target}/licences.txt`, licencesOf(output[0].moduleIds))
  place(`${target}/index.html`, source(`${page}/index.html`))
  const chart = page === "gateway" ? `${readFileSync(pathOf("node_modules/uplot/dist/uPlot.min.css"), "utf8")}\n` : ""
  place(`${target}/style.css`, `${chart}${source("shared/base.css")}\n${source(`${page}/${page}.css`)}`)
  place(`${target}/icon.svg`, source("shared/icon.svg"))
}

// The API page is Swagger UI in the copy that Effect ships. Effect's layer for it embeds the document in the page and would
// need a policy that allows inline scripts.
const swagger: { readonly css: string; readonly javascript: string } = await import(
  pathOf("node_modules/effect/dist/http-api/internal/httpApiSwagger.js")
)
const START = 'SwaggerUIBundle({ url: "openapi.json", dom_id: "#app", deepLinking: true })'
const target = folderOf("reference")
place(`${target}/main.js`, `${swagger.javascript}\n${START}\n`)
place(`${target}/style.css`, swagger.css)
place(`${target}/index.html`, source("reference/index.html"))
place(`${target}/icon.svg`, source("shared/icon.svg"))
place(`${target}/licences.txt`, `swagger-ui\n\n${readFileSync(pathOf("LICENSE"), "utf8")}`)
