/** Readiness of a server: what it needs, looked at without calling any provider. */
import { Context, DateTime, Effect, Option } from "effect"
import type { Readiness } from "../../domain/readiness.ts"
import { type ProviderStatus, Upstream } from "../upstream/Upstream.ts"
import { Drain } from "./Drain.ts"
import { RedisStatus } from "./RedisStatus.ts"
import { TlsStatus } from "./TlsStatus.ts"

/** What only one of the servers has, and whether it is in order. */
export interface OwnReadiness {
  readonly ok: boolean
  readonly members: Pick<Readiness, "key_storage" | "sessions" | "database" | "queue">
}

export class ReadinessProbe extends Context.Service<
  ReadinessProbe,
  {
    readonly report: Effect.Effect<Readiness>
  }
>()("sealgate/services/lifecycle/ReadinessProbe") {
  /** Ready: not draining, a circuit lets calls through, and what the server has of its own is in order. */
  static readonly make = Effect.fnUntraced(function* (own: Effect.Effect<OwnReadiness>) {
    const upstream = yield* Upstream
    const drain = yield* Drain
    const tls = yield* TlsStatus
    const redis = yield* RedisStatus
    const report = Effect.gen(function* () {
      const draining = yield* drain.draining
      const providers = (yield* upstream.status).map(providerReadiness)
      const usable = providers.some((provider) => provider.circuit !== "open")
      const { members, ok } = yield* own
      const status = !draining && usable && ok ? ("ready" as const) : ("unavailable" as const)
      return { status, draining, providers, tls: yield* tls, redis: yield* redis, ...members }
    })
    return ReadinessProbe.of({ report })
  })
}

/** A provider's state in the words of `/ready`. */
const providerReadiness = (status: ProviderStatus): Readiness["providers"][number] => ({
  provider: status.provider,
  model: status.model,
  configured: true,
  circuit: status.circuit,
  last_success: Option.match(status.lastSuccess, {
    onNone: () => null,
    onSome: (millis) => DateTime.formatIso(DateTime.makeUnsafe(millis)),
  }),
})
