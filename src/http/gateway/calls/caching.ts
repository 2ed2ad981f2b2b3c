/** The headers of cached answers. */
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { CacheUse } from "../../../services/routing/CachedAnswers.ts"

const CACHE_HEADER = "sealgate-cache"

/** Reads `Cache-Control`; other directives make no difference. */
export const cacheUse = ({ headers }: HttpServerRequest.HttpServerRequest): CacheUse => {
  const given = (headers["cache-control"] ?? "").toLowerCase().split(",")
  const directives = new Set(given.map((each) => each.trim()))
  if (directives.has("no-store")) return "no-store"
  return directives.has("no-cache") ? "no-cache" : "all"
}

export const markedCached = (response: HttpServerResponse.HttpServerResponse, isCached: boolean) =>
  isCached ? HttpServerResponse.setHeader(response, CACHE_HEADER, "hit") : response
