import type { KindOf, RequestKind } from "../shared/ClientLimits.ts"

/** How many requests one client may make to the proxy. 0 is no limit. */
interface ProxyLimits {
  /** Requests per minute that only read. */
  readonly read: number
  /** Sessions per minute. */
  readonly init: number
  /** Completions per minute. */
  readonly completions: number
  /** Completions in flight at once, streams included. */
  readonly concurrent: number
}

/** A request that neither reads nor begins a session counts as a completion. */
export const proxyKindOf = (limits: ProxyLimits): KindOf => {
  const kind = (name: "read" | "init" | "completions", inFlight: number): RequestKind => ({
    name,
    perMinute: limits[name],
    inFlight,
    ofProcess: false,
  })
  const read = kind("read", 0)
  const init = kind("init", 0)
  const completions = kind("completions", limits.concurrent)
  return (method, route) => {
    if (method === "GET" || method === "HEAD") return read
    return route?.path === "/v1/init" ? init : completions
  }
}
