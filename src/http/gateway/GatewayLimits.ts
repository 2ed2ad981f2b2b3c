import { Context } from "effect"

/** What one tenant, and one address, may ask of the gateway. 0 is no limit. */
export interface GatewayLimitSettings {
  /** Requests per minute, by what they are counted as. */
  readonly read: number
  readonly write: number
  readonly execute: number
  /** Long polls and event streams of one tenant at once. */
  readonly waiting: number
}

export class GatewayLimits extends Context.Service<GatewayLimits, GatewayLimitSettings>()(
  "sealgate/http/gateway/GatewayLimits",
) {}
