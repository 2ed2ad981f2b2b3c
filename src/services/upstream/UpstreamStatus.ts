/** What is known of every provider without calling it. */
import { Effect, Option } from "effect"
import type { ProviderId } from "../../domain/upstream.ts"
import type { Circuits, CircuitState } from "./Circuits.ts"
import type { Provider } from "./Provider.ts"
import type { TargetBook } from "./TargetBook.ts"

/** A target's state. `lastSuccess` is in milliseconds since the epoch. */
export interface TargetStatus {
  readonly model: string
  readonly circuit: CircuitState
  readonly lastSuccess: Option.Option<number>
}

/** A provider's state as `/ready` shows it. `lastSuccess` is in milliseconds since the epoch. */
export interface ProviderStatus {
  readonly provider: ProviderId
  /** Its default model. */
  readonly model: string
  /** The best circuit of its targets: it is open only when nothing of the provider can be called. */
  readonly circuit: CircuitState
  readonly lastSuccess: Option.Option<number>
  /** The targets that were called so far. */
  readonly targets: ReadonlyArray<TargetStatus>
}

export const statusOf = Effect.fnUntraced(function* (
  { defaultModel, id }: Provider,
  circuits: Circuits,
  book: TargetBook,
): Effect.fn.Return<ProviderStatus> {
  const called = book.of(id)
  const successes = called.flatMap(({ lastSuccess }) => lastSuccess ?? [])
  return {
    provider: id,
    model: defaultModel,
    circuit: yield* circuits.bestOf(id),
    lastSuccess: successes.length === 0 ? Option.none() : Option.some(Math.max(...successes)),
    targets: yield* Effect.forEach(called, (target) =>
      Effect.map(circuits.stateOf(target), (circuit) => ({
        model: target.model,
        circuit,
        lastSuccess: Option.fromUndefinedOr(target.lastSuccess),
      })),
    ),
  }
})
