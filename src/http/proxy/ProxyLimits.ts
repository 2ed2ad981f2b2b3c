import type { KindOf, RequestKind } from "../shared/ClientLimits.ts"

/** Request limits of one client at the proxy. 0 is no limit. */
interface ProxyLimits {
  /** GET and HEAD requests per minute. */
  readonly read: number
  /** Sessions per minute. */
  readonly init: number
  /** Completions per minute. */
  readonly completions: number
  /** Completions in flight at once, streams included. */
  readonly concurrent: number
}

/** Requests that neither read nor begin a session count as completions. */
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
