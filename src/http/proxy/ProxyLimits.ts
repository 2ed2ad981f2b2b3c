import { Context } from "effect"

/** What one client may ask of the proxy. */
export interface ProxyLimitSettings {
  /** Sessions per minute. */
  readonly init: number
  /** Completions per minute. */
  readonly completions: number
  /** Completions in flight at once, streams included. */
  readonly concurrent: number
}

export class ProxyLimits extends Context.Service<ProxyLimits, ProxyLimitSettings>()(
  "sealgate/http/proxy/ProxyLimits",
) {}
