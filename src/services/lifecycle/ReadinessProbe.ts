/** Readiness of a server: its parts, and the state of its providers, without calling them. */
import { Context, DateTime, Effect, Option } from "effect"
import {
  type ConfiguredProvider,
  isFailing,
  type ProviderReadiness,
  type Readiness,
} from "../../domain/operations/readiness.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import { ProvidersFileStatus } from "../upstream/ProvidersFileStatus.ts"
import { SLOTS } from "../upstream/Slots.ts"
import { type ProviderStatus, Upstream } from "../upstream/Upstream.ts"
import { Drain } from "./Drain.ts"
import { RedisStatus } from "./RedisStatus.ts"
import { TlsStatus } from "./TlsStatus.ts"

/** The readiness of parts that only one of the servers has. */
interface OwnReadiness {
  readonly ok: boolean
  readonly members: Pick<Readiness, "key_storage" | "sessions" | "database" | "queue">
}

export class ReadinessProbe extends Context.Service<
  ReadinessProbe,
  {
    readonly report: Effect.Effect<Readiness>
  }
>()("sealgate/services/lifecycle/ReadinessProbe") {
  /**
   * Unavailable: the server is draining, or one of its parts fails. Degraded: a provider fails, Redis is away, the file
   * of providers is refused, or clients refuse the certificate, now or once it expires.
   */
  static readonly make = Effect.fnUntraced(function* (own: Effect.Effect<OwnReadiness>) {
    const upstream = yield* Upstream
    const drain = yield* Drain
    const tls = yield* TlsStatus
    const redis = yield* RedisStatus
    const providersFile = yield* ProvidersFileStatus
    const report = Effect.gen(function* () {
      const draining = yield* drain.draining
      const configured = (yield* upstream.status).map(providerReadiness)
      const providers = [...configured, ...withoutKey(configured)]
      const [certificate, shared, listed] = [yield* tls, yield* redis, yield* providersFile]
      const degraded =
        configured.some(isFailing) ||
        shared === "down" ||
        certificate.last_reload_error !== null ||
        certificate.invalid !== null ||
        (listed !== undefined && listed.last_reload_error !== null)
      const { members, ok } = yield* own
      const status: Readiness["status"] = draining || !ok ? "unavailable" : degraded ? "degraded" : "ready"
      const file = withoutUndefined({ providers_file: listed })
      return { status, draining, providers, ...file, tls: certificate, redis: shared, ...members }
    })
    return ReadinessProbe.of({ report })
  })
}

const providerReadiness = (status: ProviderStatus): ConfiguredProvider => ({
  provider: status.provider,
  configured: true,
  model: status.model,
  circuit: status.circuit,
  last_success: Option.match(status.lastSuccess, { onNone: () => null, onSome: timeOf }),
  fault:
    status.fault === undefined
      ? null
      : {
          ...status.fault,
          since: timeOf(status.fault.since),
          host: status.fault.host ?? null,
          reason: status.fault.reason ?? null,
        },
})

const timeOf = (millis: number): string => DateTime.formatIso(DateTime.makeUnsafe(millis))

/** The slots without a key, listed so that a mistyped variable name shows. */
const withoutKey = (configured: ReadonlyArray<ConfiguredProvider>): ReadonlyArray<ProviderReadiness> =>
  SLOTS.filter((slot) => !configured.some(({ provider }) => provider === slot)).map((provider) => ({
    provider,
    configured: false,
  }))
