/** Readiness of a server: what it needs, looked at without calling any provider. */
import { Context, DateTime, type Effect, Option } from "effect"
import type { Readiness } from "../../domain/readiness.ts"
import type { ProviderStatus } from "../upstream/Upstream.ts"

export class ReadinessProbe extends Context.Service<
  ReadinessProbe,
  {
    readonly report: Effect.Effect<Readiness>
  }
>()("sealgate/services/lifecycle/ReadinessProbe") {}

/** A provider's state in the words of `/ready`. */
export const providerReadiness = (status: ProviderStatus): Readiness["providers"][number] => ({
  provider: status.provider,
  model: status.model,
  configured: true,
  circuit: status.circuit,
  last_success: Option.match(status.lastSuccess, {
    onNone: () => null,
    onSome: (millis) => DateTime.formatIso(DateTime.makeUnsafe(millis)),
  }),
})
