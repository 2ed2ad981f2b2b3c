/** Enqueues the jobs of schedules when their time comes. */
import { Effect, Layer, Schedule } from "effect"
import { Drain } from "../lifecycle/Drain.ts"
import { JobSettings } from "./JobSettings.ts"
import { Schedules } from "./Schedules.ts"

/** Looks regularly until a shutdown begins; not in a process without workers. */
export const layerScheduler = Layer.effectDiscard(
  Effect.gen(function* () {
    const drain = yield* Drain
    const { poll, workers } = yield* JobSettings
    if (workers === 0) return
    const { enqueueDue } = yield* Schedules
    const regularly = Effect.repeat(Effect.ignore(enqueueDue), Schedule.spaced(poll))
    yield* Effect.forkScoped(Effect.raceFirst(regularly, drain.begun))
  }),
)
