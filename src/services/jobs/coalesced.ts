import { Deferred, Effect } from "effect"

interface Passes {
  /** Waits for the pass after the running one. */
  next: Deferred.Deferred<void> | undefined
}

/**
 * Returns a function that runs `pass` for a name and waits for it. Callers that come during a run share the next run,
 * so a name uses at most one connection. Interrupting a caller does not stop a run.
 */
export const makeCoalesced = (pass: (name: string) => Effect.Effect<void>) =>
  Effect.map(Effect.context<never>(), (context) => {
    const runFork = Effect.runForkWith(context)
    const running = new Map<string, Passes>()

    const run = (name: string, passes: Passes, done: Deferred.Deferred<void>): Effect.Effect<void> =>
      Effect.flatMap(Effect.exit(pass(name)), (exit) => {
        Deferred.doneUnsafe(done, exit)
        const { next } = passes
        passes.next = undefined
        if (next !== undefined) return run(name, passes, next)
        running.delete(name)
        return Effect.void
      })

    return (name: string): Effect.Effect<void> =>
      Effect.suspend(() => {
        const passes = running.get(name)
        if (passes !== undefined) return Deferred.await((passes.next ??= Deferred.makeUnsafe()))
        const done = Deferred.makeUnsafe<void>()
        const first: Passes = { next: undefined }
        running.set(name, first)
        runFork(run(name, first, done))
        return Deferred.await(done)
      })
  })
