import { Context, Effect, Scope } from "effect"

/** `Effect.acquireRelease` for a release that needs no services, without copying the context for each request. */
export const holdUntilClosed = <A, E, R>(
  acquire: Effect.Effect<A, E, R>,
  release: (held: A) => Effect.Effect<unknown>,
): Effect.Effect<A, E, R | Scope.Scope> =>
  Effect.uninterruptible(
    Effect.contextWith((context: Context.Context<R | Scope.Scope>) => {
      const scope = Context.get(context, Scope.Scope)
      return Effect.tap(acquire, (held) => Scope.addFinalizerExit(scope, () => release(held)))
    }),
  )
