/** Counts how often an effect let other fibers run. */
import { Effect, Fiber, Scheduler } from "effect"

/** Returns the value with the number of tasks that the fibers of `effect` scheduled. */
export const countingTurns = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const mixed = new Scheduler.MixedScheduler()
    let turns = 0
    const scheduler: Scheduler.Scheduler = {
      executionMode: mixed.executionMode,
      shouldYield: (fiber) => mixed.shouldYield(fiber),
      makeDispatcher: () => {
        const dispatcher = mixed.makeDispatcher()
        return {
          scheduleTask: (task, priority) => {
            turns++
            dispatcher.scheduleTask(task, priority)
          },
          flush: () => dispatcher.flush(),
        }
      },
    }
    // Runs in a new fiber, because a running one keeps its dispatcher.
    return Effect.flatMap(Effect.forkChild(effect), Fiber.join).pipe(
      Effect.map((value) => ({ value, turns })),
      Effect.provideService(Scheduler.Scheduler, scheduler),
    )
  })
