/** The state of every provider, known without calling it. */
import { Effect, Option } from "effect"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"
import type { ProviderId } from "../../domain/upstream/upstream.ts"
import type { Circuits, CircuitState } from "./Circuits.ts"
import type { Fault, Faults } from "./Faults.ts"
import type { Provider } from "./Provider.ts"
import type { TargetRegistry } from "./TargetRegistry.ts"

/** A target's state. `lastSuccess` is in milliseconds since the epoch. */
export interface TargetStatus {
  readonly model: string
  readonly circuit: CircuitState
  readonly lastSuccess: Option.Option<number>
}

/** A provider's state as `/ready` shows it. `lastSuccess` is in milliseconds since the epoch. */
export interface ProviderStatus {
  readonly provider: ProviderId
  readonly model: string
  /** Where it runs, as its operator says. */
  readonly region?: string
  /** Open only if nothing of the provider can be called. */
  readonly circuit: CircuitState
  readonly lastSuccess: Option.Option<number>
  /** The reason why its calls fail, until one succeeds. */
  readonly fault: Fault | undefined
  /** The known targets that were called so far. */
  readonly targets: ReadonlyArray<TargetStatus>
}

export const statusOf = Effect.fnUntraced(function* (
  { defaultModel, id, region }: Provider,
  circuits: Circuits,
  registry: TargetRegistry,
  faults: Faults,
): Effect.fn.Return<ProviderStatus> {
  const { state, targets } = yield* circuits.statesOf(id)
  return {
    provider: id,
    model: defaultModel,
    ...withoutUndefined({ region }),
    circuit: state,
    lastSuccess: Option.fromUndefinedOr(registry.lastSuccess(id)),
    fault: faults.of(id),
    targets: targets.map(([{ lastSuccess, model }, circuit]) => ({
      model,
      circuit,
      lastSuccess: Option.fromUndefinedOr(lastSuccess),
    })),
  }
})
