/** Gauges that are measured just before a scrape of `/metrics` or an export. */
import { Context, Effect, type Scope } from "effect"

/** The measurements. Like metrics, they belong to the process rather than to a server. */
const MeasuredGauges = Context.Reference<Set<Effect.Effect<void>>>("sealgate/services/lifecycle/MeasuredGauges", {
  defaultValue: () => new Set(),
})

/** Runs `measurement` before every reading of the metrics, until the scope closes. */
export const measure = (measurement: Effect.Effect<void>): Effect.Effect<void, never, Scope.Scope> =>
  Effect.flatMap(MeasuredGauges, (measurements) =>
    Effect.acquireRelease(
      Effect.sync(() => void measurements.add(measurement)),
      () => Effect.sync(() => void measurements.delete(measurement)),
    ),
  )

export const measureAll: Effect.Effect<void> = Effect.flatMap(MeasuredGauges, (measurements) =>
  Effect.forEach([...measurements], (measurement) => measurement, { concurrency: "unbounded", discard: true }),
)
