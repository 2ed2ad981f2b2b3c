/** What `/ready` says: little to strangers, the rest to the operator. */
import { Schema } from "effect"
import { ProviderId } from "./upstream.ts"

/** A provider that is called, by its slot. */
const ConfiguredProvider = Schema.Struct({
  provider: ProviderId,
  configured: Schema.Literal(true),
  /** Its default model. */
  model: Schema.String,
  circuit: Schema.Literals(["closed", "open", "half-open"]),
  /** When a call last succeeded, as an RFC 3339 time. */
  last_success: Schema.NullOr(Schema.String),
})
export type ConfiguredProvider = typeof ConfiguredProvider.Type

/** The providers that are called, in their order, then the slots that have no key. */
export const ProviderReadiness = Schema.Union([
  ConfiguredProvider,
  Schema.Struct({ provider: ProviderId, configured: Schema.Literal(false) }),
])
export type ProviderReadiness = typeof ProviderReadiness.Type

export const TlsReadiness = Schema.Struct({
  mode: Schema.Literals(["off", "tls", "mtls"]),
  /** When the certificate expires, as an RFC 3339 time. */
  expires_at: Schema.NullOr(Schema.String),
  /** Why the last attempt to load changed files was not taken over. */
  last_reload_error: Schema.NullOr(Schema.String),
})
export type TlsReadiness = typeof TlsReadiness.Type

/** What the operator is told. Members that only one of the two servers has are optional. */
export const Readiness = Schema.Struct({
  /**
   * `unavailable`: requests should go elsewhere, because it is shutting down or lacks something of its own. `degraded`:
   * it serves, and a provider is left alone, which other processes would find as it is.
   */
  status: Schema.Literals(["ready", "degraded", "unavailable"]),
  draining: Schema.Boolean,
  providers: Schema.Array(ProviderReadiness),
  tls: TlsReadiness,
  /** Whether limits and circuits are shared with other processes; `down`: each counts by itself until Redis is back. */
  redis: Schema.optionalKey(Schema.Literals(["up", "down", "off"])),
  key_storage: Schema.optionalKey(Schema.Literals(["guarded", "plain"])),
  sessions: Schema.optionalKey(Schema.Struct({ live: Schema.Int, max: Schema.Int })),
  database: Schema.optionalKey(Schema.Struct({ kind: Schema.Literals(["sqlite", "postgres"]), ok: Schema.Boolean })),
  queue: Schema.optionalKey(Schema.Struct({ depth: Schema.Int })),
})
export type Readiness = typeof Readiness.Type

/** What anybody is told: what a balancer acts on and a client has to know, and nothing that tells of single requests. */
export const PublicReadiness = Schema.Struct({
  status: Schema.Literals(["ready", "unavailable"]),
  /** `degraded`: one is left alone because calls failed. `none`: there is no model behind it but the echo. */
  providers: Schema.Literals(["ok", "degraded", "none"]),
  /** Whether clients must show a certificate. */
  mtls: Schema.Literals(["on", "off"]),
})
export type PublicReadiness = typeof PublicReadiness.Type

const isLeftAlone = (provider: ProviderReadiness): boolean => provider.configured && provider.circuit !== "closed"

/** What of a report is for anybody. */
export const publicReadiness = ({ providers, status, tls }: Readiness): PublicReadiness => {
  const models = providers.filter(({ configured, provider }) => configured && provider !== "echo")
  return {
    status: status === "unavailable" ? "unavailable" : "ready",
    providers: models.length === 0 ? "none" : models.some(isLeftAlone) ? "degraded" : "ok",
    mtls: tls.mode === "mtls" ? "on" : "off",
  }
}
