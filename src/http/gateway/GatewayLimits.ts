import { Context } from "effect"
import { JSON_LIMITS, type JsonLimits } from "../../domain/json/iJson.ts"
import type { KindOf } from "../shared/ClientLimits.ts"
import type { Role } from "../../domain/access/roles.ts"
import { NeededRole, RateClass } from "../../api/gateway/Authorization.ts"

/** Request limits of one client and of one tenant at the gateway. 0 is no limit. */
interface GatewayLimitSettings {
  /** Requests per minute, by rate class. */
  readonly read: number
  readonly write: number
  readonly execute: number
  /** The same of one tenant. */
  readonly ofTenant: Readonly<Record<"read" | "write" | "execute", number>>
  /** Calls of models of one tenant at once. */
  readonly calls: number
  /** Long polls and event streams of one tenant at once. */
  readonly waiting: number
}

/** Below the proxy's limit, because each value is checked whenever the job is read and is sent in every step. */
export const GATEWAY_JSON_LIMITS: JsonLimits = { ...JSON_LIMITS, values: 8192 }

export class GatewayLimits extends Context.Service<GatewayLimits, GatewayLimitSettings>()(
  "sealgate/http/gateway/GatewayLimits",
) {}

/** The rate class of a request. `annotations` are those of its endpoint, if there is one. */
export const rateClassOf = (method: string, annotations: Context.Context<never> = Context.empty()) =>
  Context.get(annotations, RateClass) ?? (method === "GET" || method === "HEAD" ? "read" : "write")

const ROLE_OF: Readonly<Record<ReturnType<typeof rateClassOf>, Role>> = {
  read: "read",
  execute: "run",
  write: "manage",
}

export const neededRole = (method: string, annotations: Context.Context<never>): Role =>
  Context.get(annotations, NeededRole) ?? ROLE_OF[rateClassOf(method, annotations)]

export const gatewayKindOf =
  (limits: GatewayLimitSettings): KindOf =>
  (method, route) => {
    const name = rateClassOf(method, route?.annotations)
    return { name, perMinute: limits[name] }
  }
