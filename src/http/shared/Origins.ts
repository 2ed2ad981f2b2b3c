/**
 * Refuses requests from web pages of other origins: even if the page cannot read the answers, they use up its user's limits
 * and may cost money. Programs other than browsers name no origin and are served.
 */
import { HttpMiddleware, type HttpServerRequest } from "effect/http"
import { CrossOrigin } from "../../api/problems.ts"

const isHostOf = (origin: string, host: string | undefined): boolean => {
  const page = URL.canParse(origin) ? new URL(origin) : undefined
  if (page?.origin !== origin || host === undefined) return false
  // The default port follows the page's scheme, because TLS may end at a reverse proxy.
  const asked = `${page.protocol}//${host}`
  return URL.canParse(asked) && new URL(asked).host === page.host
}

/** Whether a person followed a link. */
const isNavigation = ({ headers, method }: HttpServerRequest.HttpServerRequest): boolean =>
  method === "GET" && headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document"

/** Whether the request comes from a page of this server, a typed address, or a program other than a browser. */
const isOwn = ({ headers }: HttpServerRequest.HttpServerRequest): boolean => {
  const site = headers["sec-fetch-site"]
  if (site !== undefined) return site === "same-origin" || site === "none"
  const origin = headers["origin"]
  return origin === undefined || isHostOf(origin, headers["host"])
}

const isAllowed = ({ headers }: HttpServerRequest.HttpServerRequest, allowed: ReadonlySet<string>): boolean =>
  allowed.has(headers["origin"] ?? "")

/** Refuses a request of a page of another origin. `remedy` says what the operator can do. */
export const originRefusal = (
  request: HttpServerRequest.HttpServerRequest,
  allowed: ReadonlySet<string>,
  remedy: string,
): CrossOrigin | undefined =>
  isOwn(request) || isNavigation(request) || isAllowed(request, allowed)
    ? undefined
    : new CrossOrigin({ detail: remedy })

/** Response headers that pages may read, besides those that CORS always allows. */
const EXPOSED = [
  "etag",
  "location",
  "ratelimit",
  "ratelimit-policy",
  "retry-after",
  "sealgate-cache",
  "www-authenticate",
]

/** How long a browser may cache a preflight response. Each request is still checked. */
const PREFLIGHT_SECONDS = 7200

/** Lets pages of the `allowed` origins read responses, and answers their preflights. */
export const sharedWith = (allowed: ReadonlySet<string>) => {
  const cors = HttpMiddleware.cors({
    allowedOrigins: (origin) => allowed.has(origin),
    exposedHeaders: EXPOSED,
    maxAge: PREFLIGHT_SECONDS,
  })
  return (request: HttpServerRequest.HttpServerRequest): typeof cors => {
    // The CORS middleware would answer every OPTIONS request, of any origin and to any path.
    const isPreflight = isAllowed(request, allowed) && request.headers["access-control-request-method"] !== undefined
    return allowed.size > 0 && (request.method !== "OPTIONS" || isPreflight) ? cors : (app) => app
  }
}
