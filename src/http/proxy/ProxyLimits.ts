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

/** Requests for evidence count as beginning a session; others that do not read count as completions. */
export const proxyKindOf = (limits: ProxyLimits): KindOf => {
  const read: RequestKind = { name: "read", perMinute: limits.read }
  const init: RequestKind = { name: "init", perMinute: limits.init }
  const completions: RequestKind = {
    name: "completions",
    perMinute: limits.completions,
    inFlight: limits.concurrent,
  }
  return (method, route) => {
    if (method === "GET" || method === "HEAD") return read
    return route?.path === "/v1/init" || route?.path === "/v1/evidence" ? init : completions
  }
}
