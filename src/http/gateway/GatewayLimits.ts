import { Context } from "effect"
import { JSON_LIMITS, type JsonLimits } from "../../domain/iJson.ts"
import type { KindOf } from "../shared/ClientLimits.ts"
import { RateClass } from "../../api/gateway/Authorization.ts"

/** What one tenant, and one client, may ask of the gateway. 0 is no limit. */
export interface GatewayLimitSettings {
  /** Requests per minute, by what they are counted as. */
  readonly read: number
  readonly write: number
  readonly execute: number
  /** Long polls and event streams of one tenant at once. */
  readonly waiting: number
}

/**
 * A conversation of two thousand messages. Every value is paid for again and again: it is checked when it comes in, whenever
 * the job is read, and sent to a model by every step. Nothing that the gateway takes holds the schemas of tools.
 */
export const GATEWAY_JSON_LIMITS: JsonLimits = { ...JSON_LIMITS, values: 8192 }

export class GatewayLimits extends Context.Service<GatewayLimits, GatewayLimitSettings>()(
  "sealgate/http/gateway/GatewayLimits",
) {}

/** What a request is counted as that is made with `method`, to an endpoint with `annotations` if there is one. */
export const rateClassOf = (method: string, annotations: Context.Context<never> = Context.empty()) =>
  Context.get(annotations, RateClass) ?? (method === "GET" || method === "HEAD" ? "read" : "write")

export const gatewayKindOf =
  (limits: GatewayLimitSettings): KindOf =>
  (method, route) => {
    const name = rateClassOf(method, route?.annotations)
    return { name, perMinute: limits[name], inFlight: 0, ofProcess: false }
  }
