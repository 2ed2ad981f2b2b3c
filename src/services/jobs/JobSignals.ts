/** Wakes callers that wait for a change of a job; a lost signal only delays them, by at most `SAFETY_POLL`. */
import { Context, Duration, Effect, Latch, Layer, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { JobId } from "../../domain/jobs/job.ts"
import { KeyedSets } from "../KeyedSets.ts"

/** How often waiters check without a signal. */
const SAFETY_POLL = Duration.seconds(5)

/**
 * - `changed`, `ended`, `stopped`: a step of the job finished, the job ended, its worker must stop.
 * - `watched`: a follower of the job came. It asks for `more` of a step's text.
 * - `begun`, `text`: a step began, with or without its text being sent; a piece of the text.
 * - `followed`, `tenant`: a follower of the tenant came; something of the tenant changed.
 *
 * Topics contain no spaces.
 */
export type Topic =
  | `changed:${JobId}`
  | `ended:${JobId}`
  | `stopped:${JobId}`
  | `watched:${JobId}`
  | `begun:${string}:${string}`
  | `text:${string}:${string}`
  | `more:${string}:${string}:${number}`
  | `followed:${string}`
  | `tenant:${string}`
export const changed = (id: JobId): Topic => `changed:${id}`
export const ended = (id: JobId): Topic => `ended:${id}`
export const stopped = (id: JobId): Topic => `stopped:${id}`
export const watched = (id: JobId): Topic => `watched:${id}`
export const begun = (id: string, step: string, hasText: boolean): Topic =>
  `begun:${id}:${step}${hasText ? ":text" : ""}`
export const text = (id: string, piece: string): Topic => `text:${id}:${piece}`
export const more = (id: string, name: string, at: number): Topic => `more:${id}:${name}:${at}`

interface Subscription {
  /** Waits for a signal since the last wait, at most about `SAFETY_POLL`. Several signals count as one. */
  readonly next: Effect.Effect<void>
}

export class JobSignals extends Context.Service<
  JobSignals,
  {
    /** Wakes the topic's subscribers when the current transaction commits; at once outside of one. */
    readonly publish: (topic: Topic) => Effect.Effect<void>
    /** No signal of these topics is missed from here on; read the database after subscribing. */
    readonly subscribe: (...topics: ReadonlyArray<string>) => Effect.Effect<Subscription, never, Scope.Scope>
    /** Calls `onTopic` for every published topic: one listener for many jobs. */
    readonly listen: (onTopic: (topic: string) => void) => Effect.Effect<void, never, Scope.Scope>
  }
>()("sealgate/services/jobs/JobSignals") {
  /** Signals within this process: the embedded database has only one. */
  static readonly layerLocal = Layer.effect(
    JobSignals,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const board = yield* makeSignalBoard
      return JobSignals.of({
        publish: (topic) => sql.afterCommit(Effect.sync(() => board.wake(topic))),
        subscribe: (...topics) => board.subscribe(topics),
        listen: (onTopic) => board.listen(onTopic),
      })
    }),
  )
}

/** The signals of a process. One timer wakes all waiters, instead of one timer each. */
export const makeSignalBoard: Effect.Effect<SignalBoard, never, Scope.Scope> = Effect.gen(function* () {
  const board = new SignalBoard()
  yield* Effect.forkScoped(Effect.forever(board.wakeAllAfter(SAFETY_POLL)))
  return board
})

class SignalBoard {
  private readonly latches = new KeyedSets<Latch.Latch>()
  /** Open while there are subscribers. */
  private readonly inUse = Latch.makeUnsafe()
  private readonly listeners = new Set<(topic: string) => void>()

  wake(topic: string): void {
    for (const latch of this.latches.of(topic)) latch.openUnsafe()
    for (const onTopic of this.listeners) onTopic(topic)
  }

  wakeAll(): void {
    for (const topic of this.latches.keys) this.wake(topic)
  }

  wakeAllAfter(time: Duration.Duration): Effect.Effect<void> {
    const wake = Effect.sync(() => {
      this.wakeAll()
      if (this.latches.keys.length === 0) this.inUse.closeUnsafe()
    })
    return this.inUse.await.pipe(Effect.andThen(Effect.sleep(time)), Effect.andThen(wake))
  }

  listen(onTopic: (topic: string) => void): Effect.Effect<void, never, Scope.Scope> {
    return Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => this.listeners.add(onTopic)),
        () => Effect.sync(() => this.listeners.delete(onTopic)),
      ),
    )
  }

  subscribe(topics: ReadonlyArray<string>): Effect.Effect<Subscription, never, Scope.Scope> {
    const latch = Latch.makeUnsafe()
    return Effect.map(this.latches.hold(latch, ...topics), () => {
      this.inUse.openUnsafe()
      return { next: Effect.andThen(latch.await, latch.close) }
    })
  }
}
