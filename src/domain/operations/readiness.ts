/** What `/ready` reports: little to the public, and the rest to the operator. */
import { Schema } from "effect"
import { FailureKind } from "../upstream/failures.ts"
import { ProviderId } from "../upstream/upstream.ts"

/** A provider that is called, by its slot. */
const ConfiguredProvider = Schema.Struct({
  provider: ProviderId,
  configured: Schema.Literal(true),
  /** Its default model. */
  model: Schema.String,
  circuit: Schema.Literals(["closed", "open", "half-open"]),
  /** When a call last succeeded, as an RFC 3339 time. */
  last_success: Schema.NullOr(Schema.String),
  /** What only the operator can mend, such as a refused key, until a call succeeds. */
  fault: Schema.NullOr(
    Schema.Struct({
      /** As an RFC 3339 time. */
      since: Schema.String,
      /** The model that was called. */
      model: Schema.String,
      /** How the call ended, as metrics have it. */
      outcome: FailureKind,
      /** The status or what the connection ended with, where there was one. */
      reason: Schema.NullOr(Schema.String),
      fix: Schema.String,
    }),
  ),
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
  /** Why changed certificate files were not loaded the last time. */
  last_reload_error: Schema.NullOr(Schema.String),
})
export type TlsReadiness = typeof TlsReadiness.Type

/** What the operator is told. Members that only one of the two servers has are optional. */
export const Readiness = Schema.Struct({
  /**
   * `unavailable`: requests should go elsewhere, because the server is shutting down or something of its own fails.
   * `degraded`: the server works, but a provider does not, which other processes would see as well.
   */
  status: Schema.Literals(["ready", "degraded", "unavailable"]),
  draining: Schema.Boolean,
  providers: Schema.Array(ProviderReadiness),
  tls: TlsReadiness,
  /**
   * Whether limits and circuits are shared with other processes; `down`: each process counts by itself until Redis is
   * back.
   */
  redis: Schema.optionalKey(Schema.Literals(["up", "down", "off"])),
  key_storage: Schema.optionalKey(Schema.Literals(["guarded", "plain"])),
  sessions: Schema.optionalKey(Schema.Struct({ live: Schema.Int, max: Schema.Int })),
  database: Schema.optionalKey(Schema.Struct({ kind: Schema.Literals(["sqlite", "postgres"]), ok: Schema.Boolean })),
  queue: Schema.optionalKey(Schema.Struct({ depth: Schema.Int })),
})
export type Readiness = typeof Readiness.Type

/**
 * What the public is told: what a load balancer acts on and what a client has to know, and nothing about single
 * requests.
 */
export const PublicReadiness = Schema.Struct({
  status: Schema.Literals(["ready", "unavailable"]),
  /** `degraded`: a provider's circuit is open or its configuration is wrong. `none`: only the built-in echo answers. */
  providers: Schema.Literals(["ok", "degraded", "none"]),
  /** Whether clients must show a certificate. */
  mtls: Schema.Literals(["on", "off"]),
})
export type PublicReadiness = typeof PublicReadiness.Type

/** Whether calls to a provider are held back, or fail until its operator mends something. */
export const isFailing = (provider: ProviderReadiness): boolean =>
  provider.configured && (provider.circuit !== "closed" || provider.fault !== null)

/** The part of a report that is public. */
export const publicReadiness = ({ providers, status, tls }: Readiness): PublicReadiness => {
  const models = providers.filter(({ configured, provider }) => configured && provider !== "echo")
  return {
    status: status === "unavailable" ? "unavailable" : "ready",
    providers: models.length === 0 ? "none" : models.some(isFailing) ? "degraded" : "ok",
    mtls: tls.mode === "mtls" ? "on" : "off",
  }
}
