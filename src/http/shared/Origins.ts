/**
 * Which web pages may use a server. A browser sends what any page wants: another page's request would be counted for the
 * people behind its address, and could be paid for, even where the page cannot read the answer. Browsers say where a
 * request comes from (Fetch Metadata, `Origin`); programs that are none say nothing and are served.
 */
import { HttpMiddleware, type HttpServerRequest } from "effect/http"
import { CrossOrigin } from "../../api/problems.ts"

type Request = HttpServerRequest.HttpServerRequest

/** `Host` of a page that has this origin, as far as it is that of a page. */
const isHostOf = (origin: string, host: string | undefined): boolean => {
  const page = URL.canParse(origin) ? new URL(origin) : undefined
  if (page?.origin !== origin || host === undefined) return false
  // The scheme may have changed on the way, where TLS ended; it says which port goes without saying.
  const asked = `${page.protocol}//${host}`
  return URL.canParse(asked) && new URL(asked).host === page.host
}

/** Somebody follows a link, or opens the page from another one. */
const isNavigation = ({ headers, method }: Request): boolean =>
  method === "GET" && headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document"

/** Sent by a page of the server's own, by whoever typed its address, or by no browser. */
const isOwn = ({ headers }: Request): boolean => {
  const site = headers["sec-fetch-site"]
  if (site !== undefined) return site === "same-origin" || site === "none"
  const origin = headers["origin"]
  return origin === undefined || isHostOf(origin, headers["host"])
}

const isAllowed = ({ headers }: Request, allowed: ReadonlySet<string>): boolean => allowed.has(headers["origin"] ?? "")

/** Why a page may not have this sent, or `undefined`. `remedy` is what its operator can do about it. */
export const originRefusal = (
  request: Request,
  allowed: ReadonlySet<string>,
  remedy: string,
): CrossOrigin | undefined =>
  isOwn(request) || isNavigation(request) || isAllowed(request, allowed)
    ? undefined
    : new CrossOrigin({ detail: remedy })

/** Headers of answers that clients read, beside those that every page may. */
const EXPOSED = ["etag", "location", "ratelimit", "ratelimit-policy", "retry-after", "www-authenticate"]

/** How long a browser may keep a leave that it was given, in seconds. The requests themselves are looked at anyway. */
const LEAVE_SECONDS = 7200

/** Lets pages of `allowed` read the answers of an app, and gives their browsers leave to send more than forms do. */
export const sharedWith = (allowed: ReadonlySet<string>) => {
  const cors = HttpMiddleware.cors({
    allowedOrigins: (origin) => allowed.has(origin),
    exposedHeaders: EXPOSED,
    maxAge: LEAVE_SECONDS,
  })
  return (request: Request): typeof cors => {
    // To every OPTIONS there would be the same answer, whoever sends it and for whatever.
    const isPreflight = isAllowed(request, allowed) && request.headers["access-control-request-method"] !== undefined
    return allowed.size > 0 && (request.method !== "OPTIONS" || isPreflight) ? cors : (app) => app
  }
}
