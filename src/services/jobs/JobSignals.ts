/**
 * Wakes callers that wait for a job when something happens to it. What happened is read from the database, so a lost
 * signal only delays. Waiters also look by themselves every `SAFETY_POLL`.
 */
import { Context, Duration, Effect, Layer, Queue, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { JobId } from "../../domain/job.ts"

/** How often a waiter looks without having been woken. */
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
  /** Waits for a signal since the last wait, at most `SAFETY_POLL`. Signals in between count as one. */
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
    Effect.map(SqlClient.SqlClient, (sql) => {
      const board = new SignalBoard()
      return JobSignals.of({
        publish: (topic) => sql.afterCommit(Effect.sync(() => board.wake(topic))),
        subscribe: (...topics) => board.subscribe(topics),
        listen: (heard) => board.listen(heard),
      })
    }),
  )
}

/** Subscribers of this process, by topic. */
export class SignalBoard {
  private readonly topics = new Map<string, Set<Queue.Queue<void>>>()
  private readonly listeners = new Set<(topic: string) => void>()

  wake(topic: string): void {
    for (const queue of this.topics.get(topic) ?? []) Queue.offerUnsafe(queue, undefined)
    for (const heard of this.listeners) heard(topic)
  }

  wakeAll(): void {
    for (const topic of this.topics.keys()) this.wake(topic)
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
    return Effect.acquireRelease(
      Effect.map(Queue.sliding<void>(1), (queue) => {
        for (const topic of topics) this.topics.set(topic, (this.topics.get(topic) ?? new Set()).add(queue))
        return queue
      }),
      (queue) =>
        Effect.sync(() => {
          for (const topic of topics) {
            const queues = this.topics.get(topic)
            queues?.delete(queue)
            if (queues?.size === 0) this.topics.delete(topic)
          }
        }),
    ).pipe(Effect.map((queue) => ({ next: Effect.asVoid(Effect.timeoutOption(Queue.take(queue), SAFETY_POLL)) })))
  }
}
