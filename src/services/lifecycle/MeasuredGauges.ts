/** Gauges that are measured right before they are read: by a scrape of `/metrics`, or an exporter. */
import { Context, Effect, type Scope } from "effect"

/** The measurements. Like the metrics themselves, they belong to the process rather than to a server. */
const MeasuredGauges = Context.Reference<Set<Effect.Effect<void>>>("sealgate/services/lifecycle/MeasuredGauges", {
  defaultValue: () => new Set(),
})

/** Has `measurement` run before every reading of the metrics, until the scope closes. */
export const measure = (measurement: Effect.Effect<void>): Effect.Effect<void, never, Scope.Scope> =>
  Effect.flatMap(MeasuredGauges, (measurements) =>
    Effect.acquireRelease(
      Effect.sync(() => void measurements.add(measurement)),
      () => Effect.sync(() => void measurements.delete(measurement)),
    ),
  )

/** Brings every measured gauge up to date. */
export const measureAll: Effect.Effect<void> = Effect.flatMap(MeasuredGauges, (measurements) =>
  Effect.forEach([...measurements], (measurement) => measurement, { concurrency: "unbounded", discard: true }),
)
