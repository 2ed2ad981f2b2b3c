/** Orderly shutdown: no new work begins, and work in flight may finish within a grace period; the rest is aborted. */
import { Clock, Context, Deferred, Duration, Effect, Exit, Layer, Option, Schema, type Scope } from "effect"
import { mayBreakOff } from "../mayBreakOff.ts"
import { CallbackList } from "./CallbackList.ts"

/** The grace period is over. */
export class Aborted extends Schema.TaggedError<Aborted>()("Aborted", {}) {
  override get message(): string {
    return "The server is shutting down."
  }
}

/** How long aborted work may take to finish its output. */
const LAST_WORDS = Duration.seconds(3)

/** Work that a shutdown waits for. */
interface Work {
  /** A request becomes a stream when its answer begins to stream. */
  kind: "request" | "stream" | "job"
  /** Milliseconds since the epoch. */
  readonly since: number
}

export class Drain extends Context.Service<
  Drain,
  {
    readonly draining: Effect.Effect<boolean>
    /** Returns once the shutdown has begun, for idle waiters such as long polls. */
    readonly begun: Effect.Effect<void>
    /** Counts the caller as in flight until its scope closes. Call it before reading `draining`, or a drain may miss it. */
    readonly inFlight: (kind: Work["kind"]) => Effect.Effect<Work, never, Scope.Scope>
    /** Never succeeds; fails once the grace period is over. */
    readonly aborted: Effect.Effect<never, Aborted>
    /** Runs an effect, and interrupts it once the grace period is over. */
    readonly unlessAborted: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E | Aborted>
    /**
     * Calls back once the grace period is over. Returns a function that cancels the callback. Unlike a race it needs no
     * fiber.
     */
    readonly onAbort: (call: () => void) => () => void
    /** Begins the shutdown, once, and returns when nothing is in flight or the time is up. */
    readonly drain: Effect.Effect<void>
  }
>()("sealgate/services/lifecycle/Drain") {
  static readonly layer = (settings: { readonly grace: Duration.Duration }) =>
    Layer.effect(
      Drain,
      Effect.gen(function* () {
        let draining = false
        const begun = yield* Deferred.make<void>()
        const idle = yield* Deferred.make<void>()
        const inFlight = new Set<Work>()
        let isAborted = false
        const aborts = new CallbackList()
        const onAbort = (call: () => void) => {
          if (!isAborted) return aborts.add(call)
          call()
          return () => undefined
        }
        const aborted = Effect.callback<never, Aborted>((resume) =>
          Effect.sync(onAbort(() => resume(Effect.fail(new Aborted())))),
        )

        const unlessAborted = <A, E>(effect: Effect.Effect<A, E>) =>
          mayBreakOff<A, E, Aborted>(effect, (breakOff) => onAbort(() => breakOff(Exit.fail(new Aborted()))))

        const enter = (kind: Work["kind"]) =>
          Clock.clockWith((clock) => {
            const work: Work = { kind, since: clock.currentTimeMillisUnsafe() }
            inFlight.add(work)
            return Effect.succeed(work)
          })
        const leave = (work: Work) => {
          inFlight.delete(work)
          return draining && inFlight.size === 0 ? Deferred.succeed(idle, undefined) : Effect.void
        }

        /** Annotates a log line with the work in flight. */
        const counted = <A>(log: Effect.Effect<A>) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.annotateLogs(log, countsOf(inFlight, now)))

        return Drain.of({
          draining: Effect.sync(() => draining),
          begun: Deferred.await(begun),
          inFlight: (kind) => Effect.acquireRelease(enter(kind), leave),
          aborted,
          unlessAborted,
          onAbort,
          drain: yield* Effect.cached(
            Effect.gen(function* () {
              draining = true
              yield* Deferred.succeed(begun, undefined)
              if (inFlight.size === 0) return yield* Effect.logInfo("shutting down; nothing is in flight")
              const grace = Duration.format(settings.grace)
              yield* counted(Effect.logInfo(`shutting down; waiting up to ${grace} for what is in flight`))
              const [waited, finished] = yield* Effect.timed(Effect.timeoutOption(Deferred.await(idle), settings.grace))
              if (Option.isSome(finished)) {
                return yield* Effect.logInfo(
                  `everything in flight has ended after ${Duration.format(Duration.millis(Math.round(Duration.toMillis(waited))))}`,
                )
              }
              yield* counted(Effect.logWarning(`breaking off what is still in flight after ${grace}`))
              isAborted = true
              aborts.callAll()
              yield* Effect.timeoutOption(Deferred.await(idle), LAST_WORDS)
            }),
          ),
        })
      }),
    )
}

/** The number of each kind of work, and the age of the oldest. */
const countsOf = (works: Iterable<Work>, now: number) => {
  const all = [...works]
  const count = (kind: Work["kind"]) => all.filter((work) => work.kind === kind).length
  return {
    requests: count("request"),
    streams: count("stream"),
    jobs: count("job"),
    longest_ms: Math.max(0, ...all.map(({ since }) => now - since)),
  }
}
