/**
 * Which web pages may use a server. A browser sends the requests of any page: they would count for the people behind
 * its address, and might cost money, even if the page cannot read the answers. Browsers say where a request comes from
 * (Fetch Metadata, `Origin`). Programs that are not browsers say nothing and are served.
 */
import { HttpMiddleware, type HttpServerRequest } from "effect/http"
import { CrossOrigin } from "../../api/problems.ts"

type Request = HttpServerRequest.HttpServerRequest

/** The `Host` under which a page of this origin was loaded, if it has one. */
const isHostOf = (origin: string, host: string | undefined): boolean => {
  const page = URL.canParse(origin) ? new URL(origin) : undefined
  if (page?.origin !== origin || host === undefined) return false
  // The page's scheme decides which port is the default one, because TLS may have been terminated on the way.
  const asked = `${page.protocol}//${host}`
  return URL.canParse(asked) && new URL(asked).host === page.host
}

/** A person follows a link, or opens the page from another one. */
const isNavigation = ({ headers, method }: Request): boolean =>
  method === "GET" && headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document"

/**
 * The request comes from a page of this server, from an address that was typed in, or from a program that is no
 * browser.
 */
const isOwn = ({ headers }: Request): boolean => {
  const site = headers["sec-fetch-site"]
  if (site !== undefined) return site === "same-origin" || site === "none"
  const origin = headers["origin"]
  return origin === undefined || isHostOf(origin, headers["host"])
}

const isAllowed = ({ headers }: Request, allowed: ReadonlySet<string>): boolean => allowed.has(headers["origin"] ?? "")

/** Why a page may not make this request, or `undefined`. `remedy` is what the operator can do about it. */
export const originRefusal = (
  request: Request,
  allowed: ReadonlySet<string>,
  remedy: string,
): CrossOrigin | undefined =>
  isOwn(request) || isNavigation(request) || isAllowed(request, allowed)
    ? undefined
    : new CrossOrigin({ detail: remedy })

/** Response headers that clients read, beside those that any page may read. */
const EXPOSED = ["etag", "location", "ratelimit", "ratelimit-policy", "retry-after", "www-authenticate"]

/** How long a browser may cache a preflight response, in seconds. The requests themselves are checked all the same. */
const LEAVE_SECONDS = 7200

/** Lets pages of the `allowed` origins read the responses of an app, and answers the preflights of their browsers. */
export const sharedWith = (allowed: ReadonlySet<string>) => {
  const cors = HttpMiddleware.cors({
    allowedOrigins: (origin) => allowed.has(origin),
    exposedHeaders: EXPOSED,
    maxAge: LEAVE_SECONDS,
  })
  return (request: Request): typeof cors => {
    // Without this check every OPTIONS request would get the same answer, whoever sends it and to whatever path.
    const isPreflight = isAllowed(request, allowed) && request.headers["access-control-request-method"] !== undefined
    return allowed.size > 0 && (request.method !== "OPTIONS" || isPreflight) ? cors : (app) => app
  }
}
