/**
 * Shutdown in order: readiness turns bad, nothing new begins, work in flight may finish within a grace period, and what
 * has not finished by then is told to end.
 */
import { Context, Deferred, Duration, Effect, Layer, Option, Schema, type Scope, Stream, SubscriptionRef } from "effect"

/** The grace period is over. */
export class Aborted extends Schema.TaggedError<Aborted>()("Aborted", {}) {
  override get message(): string {
    return "The server is shutting down."
  }
}

/** How long work that was told to end may take to finish its output. */
const LAST_WORDS = Duration.seconds(3)

export class Drain extends Context.Service<
  Drain,
  {
    readonly draining: Effect.Effect<boolean>
    /** Returns once the shutdown has begun: for callers that wait without doing work, such as long polls. */
    readonly begun: Effect.Effect<void>
    /**
     * Counts the caller as work in flight until its scope closes. It has to be called before `draining` is read;
     * otherwise a drain that begins in between would miss the caller.
     */
    readonly inFlight: Effect.Effect<void, never, Scope.Scope>
    /** Never succeeds; fails once the grace period is over. */
    readonly aborted: Effect.Effect<never, Aborted>
    /** Begins the shutdown, and returns when nothing is in flight or the waiting is over. */
    readonly drain: Effect.Effect<void>
  }
>()("sealgate/services/lifecycle/Drain") {
  static readonly layer = (settings: { readonly grace: Duration.Duration }) =>
    Layer.effect(
      Drain,
      Effect.gen(function* () {
        let draining = false
        const begun = yield* Deferred.make<void>()
        const aborted = yield* Deferred.make<never, Aborted>()
        const count = yield* SubscriptionRef.make(0)
        const change = (by: number) => SubscriptionRef.update(count, (current) => current + by)
        const idle = SubscriptionRef.changes(count).pipe(
          Stream.takeUntil((current) => current === 0),
          Stream.runDrain,
        )
        return Drain.of({
          draining: Effect.sync(() => draining),
          begun: Deferred.await(begun),
          inFlight: Effect.acquireRelease(change(1), () => change(-1)),
          aborted: Deferred.await(aborted),
          drain: Effect.gen(function* () {
            draining = true
            yield* Deferred.succeed(begun, undefined)
            const finished = yield* Effect.timeoutOption(idle, settings.grace)
            if (Option.isSome(finished)) return
            yield* Deferred.fail(aborted, new Aborted())
            yield* Effect.timeoutOption(idle, LAST_WORDS)
          }),
        })
      }),
    )
}
