import { Effect, Scope } from "effect"

/**
 * As `Effect.acquireRelease`, for a release that needs no services: it keeps no context, which would be copied to release
 * within it, whole and for each request.
 */
export const holdUntilClosed = <A, E, R>(
  acquire: Effect.Effect<A, E, R>,
  release: (held: A) => Effect.Effect<unknown>,
): Effect.Effect<A, E, R | Scope.Scope> =>
  Effect.uninterruptible(
    Effect.flatMap(Scope.Scope, (scope) =>
      Effect.tap(acquire, (held) => Scope.addFinalizerExit(scope, () => release(held))),
    ),
  )
