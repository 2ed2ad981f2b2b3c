/**
 * Job signals across processes: one `LISTEN` connection per process, and `NOTIFY` after the commit, for all that happened
 * meanwhile. Within a transaction it would be a lock that every commit of every process waits for.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as PgConnection from "@effect/sql-pg/PgConnection"
import { Effect, Layer, Queue, Schedule, Scope } from "effect"
import { SecureRandom } from "effect/crypto"
import { JobSignals, makeSignalBoard } from "../../services/jobs/JobSignals.ts"
import { connectionOf, type PostgresConfig } from "./PostgresClient.ts"

const CHANNEL = "sealgate_jobs"
const RECONNECT_EVERY = Schedule.spaced("1 second")
/** Topics that are gathered at most. */
const TOPICS_AT_ONCE = 150
/** Postgres takes payloads of less than 8000 bytes, and all of a topic is ASCII. */
const MAX_PAYLOAD = 7900

export const layerPostgresSignals = (config: PostgresConfig) =>
  Layer.effect(
    JobSignals,
    Effect.gen(function* () {
      const pg = yield* PgClient.PgClient
      const board = yield* makeSignalBoard
      /** Tells what this process has sent itself. */
      const self = SecureRandom.uuidV4Unsafe()
      let lost = false

      const tellLoss = (reason: string) =>
        Effect.suspend(() => {
          if (lost) return Effect.void
          lost = true
          return Effect.logWarning(`Lost the notification connection: ${reason}`)
        })
      const tellReturn = Effect.suspend(() => {
        if (!lost) return Effect.void
        lost = false
        return Effect.logInfo("The notification connection is back")
      })

      const receive = (payload: string): void => {
        const [sender, ...topics] = payload.split(" ")
        if (sender !== self) for (const topic of topics) board.wake(topic)
      }

      const listen = Effect.scoped(
        Effect.gen(function* () {
          // To stop listening is a statement, for which a server that hangs would be waited for. So the connection is
          // closed first, and ends it; finalizers run in reverse.
          const listening = yield* Effect.acquireRelease(Scope.make(), Scope.close)
          const connection = yield* PgConnection.make(connectionOf(config))
          const notifications = yield* Scope.provide(connection.listen(CHANNEL), listening)
          yield* tellReturn
          // Whatever was said while nobody listened is lost: everybody looks for themselves.
          board.wakeAll()
          return yield* Effect.forever(
            Effect.map(Queue.take(notifications), (notification) => receive(notification.payload)),
          )
        }),
      )
      yield* listen.pipe(
        Effect.tapError((error) => tellLoss(error.reason._tag)),
        Effect.retry(RECONNECT_EVERY),
        Effect.forkScoped,
      )

      /** What others have not been told yet. While one message is on its way, the next is gathered. */
      const outbox = yield* Queue.unbounded<string>()
      const send = Effect.gen(function* () {
        const topics = new Set(yield* Queue.takeBetween(outbox, 1, TOPICS_AT_ONCE))
        for (const payload of payloadsOf(self, topics)) yield* pg`SELECT pg_notify(${CHANNEL}, ${payload})`
      })
      // What cannot be told is found out by those who look for themselves.
      yield* Effect.forkScoped(Effect.forever(Effect.ignore(send)))

      return JobSignals.of({
        publish: (topic) =>
          pg.afterCommit(
            Effect.sync(() => {
              board.wake(topic)
              Queue.offerUnsafe(outbox, topic)
            }),
          ),
        subscribe: (...topics) => board.subscribe(topics),
        listen: (heard) => board.listen(heard),
      })
    }),
  )

/** The topics behind their sender, as few messages as there can be. */
const payloadsOf = (sender: string, topics: Iterable<string>): ReadonlyArray<string> => {
  const payloads: Array<string> = []
  let payload = sender
  for (const topic of topics) {
    if (payload.length + 1 + topic.length > MAX_PAYLOAD) {
      payloads.push(payload)
      payload = sender
    }
    payload += ` ${topic}`
  }
  return [...payloads, payload]
}
