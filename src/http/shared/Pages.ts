/** Pages, such as `/console`, as `npm run build:web` bundles them. They load nothing from other origins. */
import { readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { Effect, Layer } from "effect"
import { type Asset, layerAssets } from "./Assets.ts"

/** The folder of the bundles; the path is the same from this file and from its compiled form. */
const WEB = new URL("../../../dist/web/", import.meta.url)

const FILES = [
  { below: "", file: "index.html", contentType: "text/html; charset=utf-8" },
  { below: "/main.js", file: "main.js", contentType: "text/javascript; charset=utf-8" },
  { below: "/style.css", file: "style.css", contentType: "text/css; charset=utf-8" },
  { below: "/icon.svg", file: "icon.svg", contentType: "image/svg+xml" },
] as const

export interface WebPage {
  readonly path: `/${string}`
  /** Folder of its files in `dist/web`. */
  readonly folder: string
  readonly policy?: Asset["policy"]
}

export const pageRoutes = ({ path }: WebPage) => FILES.map(({ below }) => ["GET", `${path}${below}`] as const)

const load = ({ folder, path, policy = "strict" }: WebPage) =>
  Effect.forEach(FILES, ({ below, contentType, file }) =>
    Effect.tryPromise(async (): Promise<Asset> => {
      const content = await readFile(fileURLToPath(new URL(`${folder}/${file}`, WEB)))
      return { path: `${path}${below}`, contentType, policy, content: Effect.succeed(content) }
    }),
  )

/** Serves a page. If its files are missing, as in a fresh checkout, logs a warning and serves nothing. */
export const layerPage = (page: WebPage) =>
  Layer.unwrap(
    Effect.match(load(page), {
      onSuccess: layerAssets,
      onFailure: () =>
        Layer.effectDiscard(
          Effect.logWarning(`nothing at ${page.path}: its files are missing; \`npm run build:web\` makes them`),
        ),
    }),
  )
