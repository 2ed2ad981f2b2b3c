/**
 * The page at `/console`, one per server. It was bundled by `npm run build:web` (which installing runs), needs nothing
 * from anywhere else, and may do nothing that it does not need.
 */
import { createHash } from "node:crypto"
import { readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { Effect, Layer } from "effect"
import { HttpRouter, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { pathOf } from "./RouteTable.ts"

/** Where bundles are, seen from this file's source as well as from what is made of it. */
const WEB = new URL("../../../dist/web/", import.meta.url)

const FILES = [
  { path: "/console", file: "index.html", contentType: "text/html; charset=utf-8" },
  { path: "/console/main.js", file: "main.js", contentType: "text/javascript; charset=utf-8" },
  { path: "/console/style.css", file: "style.css", contentType: "text/css; charset=utf-8" },
  { path: "/console/icon.svg", file: "icon.svg", contentType: "image/svg+xml" },
] as const

/** What is served, for tables of routes. */
export const CONSOLE_ROUTES = FILES.map(({ path }) => ["GET", path] as const)

/**
 * No other origin, nothing inline, no frames, no forms that leave; scripts may not turn text into markup. Stated for
 * every file, so that none of them is more than it should be when it is opened by itself.
 */
const SECURITY_HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  // Asked for anew each time, because it has to fit the server; unchanged files are answered with 304.
  "cache-control": "no-cache",
}

interface Loaded {
  readonly path: (typeof FILES)[number]["path"]
  readonly contentType: string
  readonly body: Uint8Array
  readonly etag: string
}

const load = (component: "proxy" | "gateway") =>
  Effect.forEach(FILES, ({ contentType, file, path }) =>
    Effect.tryPromise(async (): Promise<Loaded> => {
      const body = await readFile(fileURLToPath(new URL(`${component}/${file}`, WEB)))
      return { path, contentType, body, etag: `"${createHash("sha256").update(body).digest("base64url")}"` }
    }),
  )

const answer = ({ body, contentType, etag, path }: Loaded, request: HttpServerRequest.HttpServerRequest) => {
  // The page names its files relative to itself, so that it works below any prefix, and so it must have one name.
  if (pathOf(request.url).endsWith("/")) return HttpServerResponse.redirect(`..${path}`)
  const headers = { ...SECURITY_HEADERS, etag }
  const known = request.headers["if-none-match"]?.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag)
  return known === true
    ? HttpServerResponse.empty({ status: 304, headers })
    : HttpServerResponse.uint8Array(body, { contentType, headers })
}

/** Serves the console of one server. Without its files, which only a checkout can lack, it says so and serves nothing. */
export const layerConsole = (component: "proxy" | "gateway") =>
  Layer.unwrap(
    Effect.match(load(component), {
      onSuccess: (files) =>
        Layer.mergeAll(
          Layer.empty,
          ...files.map((file) => HttpRouter.add("GET", file.path, (request) => Effect.succeed(answer(file, request)))),
        ),
      onFailure: () =>
        Layer.effectDiscard(Effect.logWarning("no console: its files are missing; `npm run build:web` makes them")),
    }),
  )
