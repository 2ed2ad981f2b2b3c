/** The reports of `/ready`: a short public one, and one for the operator. */
import { Schema } from "effect"
import { FailureKind } from "../upstream/failures.ts"
import { ProviderId } from "../upstream/upstream.ts"

/** A provider with a key, by its slot. */
const ConfiguredProvider = Schema.Struct({
  provider: ProviderId,
  configured: Schema.Literal(true),
  model: Schema.String,
  circuit: Schema.Literals(["closed", "open", "half-open"]),
  /** When a call last succeeded, as an RFC 3339 time. */
  last_success: Schema.NullOr(Schema.String),
  /** Why its calls fail; cleared when one succeeds. */
  fault: Schema.NullOr(
    Schema.Struct({
      /** As an RFC 3339 time. */
      since: Schema.String,
      model: Schema.String,
      /** The server that was called, with its port. */
      host: Schema.NullOr(Schema.String),
      /** The same value as in metrics. */
      outcome: FailureKind,
      /** HTTP status or connection error, if there was one. */
      reason: Schema.NullOr(Schema.String),
      /** Whether only the operator can fix it, such as a refused key. Other faults may pass. */
      lasting: Schema.Boolean,
      fix: Schema.String,
    }),
  ),
})
export type ConfiguredProvider = typeof ConfiguredProvider.Type

/** Providers with a key in their order, then the slots without one. */
export const ProviderReadiness = Schema.Union([
  ConfiguredProvider,
  Schema.Struct({ provider: ProviderId, configured: Schema.Literal(false) }),
])
export type ProviderReadiness = typeof ProviderReadiness.Type

export const TlsReadiness = Schema.Struct({
  mode: Schema.Literals(["off", "tls", "mtls"]),
  /** When the certificate expires, as an RFC 3339 time. */
  expires_at: Schema.NullOr(Schema.String),
  /** Why the last reload of changed certificate files failed. */
  last_reload_error: Schema.NullOr(Schema.String),
  /** Why clients refuse the certificate in use, such as its expiry. */
  invalid: Schema.NullOr(Schema.String),
})
export type TlsReadiness = typeof TlsReadiness.Type

export const ProvidersFileReadiness = Schema.Struct({
  /** Providers of the file that are in use. */
  providers: Schema.Int,
  /** Why the file, as it is now, is not used. */
  last_reload_error: Schema.NullOr(Schema.String),
})
export type ProvidersFileReadiness = typeof ProvidersFileReadiness.Type

/** The operator's report. Members of only one of the two servers are optional. */
export const Readiness = Schema.Struct({
  /**
   * `unavailable`: send requests elsewhere; the server is shutting down or a dependency such as the database fails.
   * `degraded`: a provider fails, Redis is away, or a certificate or the file of providers needs its operator; requests are served.
   */
  status: Schema.Literals(["ready", "degraded", "unavailable"]),
  draining: Schema.Boolean,
  providers: Schema.Array(ProviderReadiness),
  /** Present with `PROVIDERS_FILE`. */
  providers_file: Schema.optionalKey(ProvidersFileReadiness),
  tls: TlsReadiness,
  /** `up`: limits and circuits are shared between processes. `down`: each counts by itself until Redis is back. */
  redis: Schema.optionalKey(Schema.Literals(["up", "down", "off"])),
  key_storage: Schema.optionalKey(Schema.Literals(["guarded", "plain"])),
  sessions: Schema.optionalKey(Schema.Struct({ live: Schema.Int, max: Schema.Int })),
  /** `reason`: why it is not `ok`. */
  database: Schema.optionalKey(
    Schema.Struct({
      kind: Schema.Literals(["sqlite", "postgres"]),
      ok: Schema.Boolean,
      reason: Schema.optionalKey(Schema.String),
    }),
  ),
  queue: Schema.optionalKey(Schema.Struct({ depth: Schema.Int })),
})
export type Readiness = typeof Readiness.Type

/** Public part of `/ready`, for load balancers and clients. It reveals nothing about single requests. */
export const PublicReadiness = Schema.Struct({
  status: Schema.Literals(["ready", "unavailable"]),
  providers: Schema.Literals(["ok", "degraded", "none"]).annotate({
    description:
      "`degraded`: a provider's circuit is open or its configuration is wrong. `none`: only the built-in echo answers.",
  }),
  mtls: Schema.Literals(["on", "off"]).annotate({ description: "Whether clients must present a certificate." }),
})
export type PublicReadiness = typeof PublicReadiness.Type

/**
 * Whether a provider's circuit is not closed, or its calls fail until the operator fixes something. A single failure
 * does not count.
 */
export const isFailing = (provider: ProviderReadiness): boolean =>
  provider.configured && (provider.circuit !== "closed" || provider.fault?.lasting === true)

/** The part of a report that is public. */
export const publicReadiness = ({ providers, status, tls }: Readiness): PublicReadiness => {
  const models = providers.filter(({ configured, provider }) => configured && provider !== "echo")
  return {
    status: status === "unavailable" ? "unavailable" : "ready",
    providers: models.length === 0 ? "none" : models.some(isFailing) ? "degraded" : "ok",
    mtls: tls.mode === "mtls" ? "on" : "off",
  }
}
