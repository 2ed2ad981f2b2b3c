/** Static files. Each is built and compressed once, and all responses share one copy in memory. */
import { createHash } from "node:crypto"
import { promisify } from "node:util"
import { constants, gzip } from "node:zlib"
import { Effect, Layer } from "effect"
import { HttpRouter, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { pathOf } from "./RouteTable.ts"
import { weightsIn } from "./weights.ts"

export interface Asset {
  readonly path: `/${string}`
  readonly contentType: string
  /** Default: `strict`. */
  readonly policy?: keyof typeof POLICIES
  /** Run once, when the asset is first requested. */
  readonly content: Effect.Effect<string | Uint8Array>
}

/** Forbids other origins, inline code, frames and forms. */
const COMMON_POLICY =
  "default-src 'none'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "

/** Content security policies. `strict` also forbids text as markup; `swagger` allows what Swagger UI needs. */
const POLICIES = {
  strict: `${COMMON_POLICY}style-src 'self'; img-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'`,
  swagger: `${COMMON_POLICY}style-src 'self' 'unsafe-inline'; img-src 'self' data:`,
}

const HEADERS = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  // Browsers revalidate each time, because the files must match the server; unchanged files get 304.
  "cache-control": "no-cache",
  vary: "accept-encoding",
}

interface Prepared {
  readonly plain: Uint8Array
  readonly gzipped: Uint8Array
  /** Weak, because it stands for both the plain and the compressed content. */
  readonly etag: string
}

const compress = promisify(gzip)

const prepare = (content: string | Uint8Array) =>
  Effect.promise(async (): Promise<Prepared> => {
    const plain = typeof content === "string" ? Buffer.from(content) : content
    return {
      plain,
      gzipped: await compress(plain, { level: constants.Z_BEST_COMPRESSION }),
      etag: `W/"${createHash("sha256").update(plain).digest("base64url")}"`,
    }
  })

/** Whether `Accept-Encoding` allows gzip, by name or else by `*`, with a weight above zero (RFC 9110 §12.5.3). */
export const acceptsGzip = (header: string | undefined): boolean => {
  const weights = weightsIn(header)
  return (weights.get("gzip") ?? weights.get("*") ?? 0) > 0
}

const answer = (
  { contentType, path, policy = "strict" }: Asset,
  { etag, gzipped, plain }: Prepared,
  request: HttpServerRequest.HttpServerRequest,
): HttpServerResponse.HttpServerResponse => {
  // A page refers to its files by relative paths, which a trailing slash would break.
  if (pathOf(request.url).endsWith("/")) return HttpServerResponse.redirect(`..${path}`)
  const headers = { ...HEADERS, "content-security-policy": POLICIES[policy], etag }
  const known = request.headers["if-none-match"]?.split(",").some((tag) => tag.trim() === etag)
  if (known === true) return HttpServerResponse.empty({ status: 304, headers })
  return acceptsGzip(request.headers["accept-encoding"])
    ? HttpServerResponse.uint8Array(gzipped, { contentType, headers: { ...headers, "content-encoding": "gzip" } })
    : HttpServerResponse.uint8Array(plain, { contentType, headers })
}

const layerAsset = (asset: Asset) =>
  Layer.unwrap(
    Effect.map(Effect.cached(Effect.flatMap(asset.content, prepare)), (prepared) =>
      HttpRouter.add("GET", asset.path, (request) =>
        Effect.map(prepared, (prepared) => answer(asset, prepared, request)),
      ),
    ),
  )

export const layerAssets = (assets: ReadonlyArray<Asset>) => Layer.mergeAll(Layer.empty, ...assets.map(layerAsset))
