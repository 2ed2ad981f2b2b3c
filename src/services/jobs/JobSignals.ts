/**
 * Wakes callers that wait for a job when something happens to it. What happened is read from the database, so a lost
 * signal only delays: all waiters are woken every `SAFETY_POLL` to look by themselves.
 */
import { Context, Duration, Effect, Latch, Layer, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { JobId } from "../../domain/jobs/job.ts"

/** How often waiters look where nothing has woken them. */
const SAFETY_POLL = Duration.seconds(5)

/**
 * What happens to a job: a step finished, it ended, or its worker has to let go of it. And for those who follow it: that they
 * do, and a step that begins, as a text without spaces and colons.
 */
type Topic =
  | `changed:${JobId}`
  | `ended:${JobId}`
  | `stopped:${JobId}`
  | `watched:${JobId}`
  | `begun:${string}:${string}`
export const changed = (id: JobId): Topic => `changed:${id}`
export const ended = (id: JobId): Topic => `ended:${id}`
export const stopped = (id: JobId): Topic => `stopped:${id}`
export const watched = (id: JobId): Topic => `watched:${id}`
export const begun = (id: string, step: string): Topic => `begun:${id}:${step}`

interface Subscription {
  /** Waits for a signal since the last wait, at most about `SAFETY_POLL`. Signals in between count as one. */
  readonly next: Effect.Effect<void>
}

export class JobSignals extends Context.Service<
  JobSignals,
  {
    /** Wakes the topic's subscribers once the current transaction commits; at once outside of one. */
    readonly publish: (topic: Topic) => Effect.Effect<void>
    /** From here on no signal of these topics is missed; read the database after subscribing. */
    readonly subscribe: (...topics: ReadonlyArray<string>) => Effect.Effect<Subscription, never, Scope.Scope>
    /** Calls `heard` for every topic that is published, for who has many to look after. */
    readonly listen: (heard: (topic: string) => void) => Effect.Effect<void, never, Scope.Scope>
  }
>()("sealgate/services/jobs/JobSignals") {
  /** Within this process, which is all there is on the embedded database. */
  static readonly layerLocal = Layer.effect(
    JobSignals,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const board = yield* makeSignalBoard
      return JobSignals.of({
        publish: (topic) => sql.afterCommit(Effect.sync(() => board.wake(topic))),
        subscribe: (...topics) => board.subscribe(topics),
        listen: (heard) => board.listen(heard),
      })
    }),
  )
}

/** The board of a process. One timer wakes all waiters to look, where each would need one of its own. */
export const makeSignalBoard: Effect.Effect<SignalBoard, never, Scope.Scope> = Effect.gen(function* () {
  const board = new SignalBoard()
  yield* Effect.forkScoped(Effect.forever(board.wakeAllAfter(SAFETY_POLL)))
  return board
})

/** Subscribers of this process, by topic. */
class SignalBoard {
  private readonly topics = new Map<string, Set<Latch.Latch>>()
  /** Open while there are any. */
  private readonly inUse = Latch.makeUnsafe()
  private readonly listeners = new Set<(topic: string) => void>()

  wake(topic: string): void {
    for (const latch of this.topics.get(topic) ?? []) latch.openUnsafe()
    for (const heard of this.listeners) heard(topic)
  }

  wakeAll(): void {
    for (const topic of this.topics.keys()) this.wake(topic)
  }

  wakeAllAfter(time: Duration.Duration): Effect.Effect<void> {
    const wake = Effect.sync(() => {
      this.wakeAll()
      if (this.topics.size === 0) this.inUse.closeUnsafe()
    })
    return this.inUse.await.pipe(Effect.andThen(Effect.sleep(time)), Effect.andThen(wake))
  }

  listen(heard: (topic: string) => void): Effect.Effect<void, never, Scope.Scope> {
    return Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => this.listeners.add(heard)),
        () => Effect.sync(() => this.listeners.delete(heard)),
      ),
    )
  }

  subscribe(topics: ReadonlyArray<string>): Effect.Effect<Subscription, never, Scope.Scope> {
    const latch = Latch.makeUnsafe()
    return Effect.acquireRelease(
      Effect.sync((): Subscription => {
        for (const topic of topics) this.topics.set(topic, (this.topics.get(topic) ?? new Set()).add(latch))
        this.inUse.openUnsafe()
        return { next: Effect.andThen(latch.await, latch.close) }
      }),
      () => {
        for (const topic of topics) {
          const latches = this.topics.get(topic)
          latches?.delete(latch)
          if (latches?.size === 0) this.topics.delete(topic)
        }
        return Effect.void
      },
    )
  }
}
