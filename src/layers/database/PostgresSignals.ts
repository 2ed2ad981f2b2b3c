/**
 * Job signals across processes: one `LISTEN` connection per process, and a `NOTIFY` after commits. Within a transaction,
 * `NOTIFY` takes a lock that every commit of every process waits for.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as PgConnection from "@effect/sql-pg/PgConnection"
import { Duration, Effect, Layer, Queue, Schedule, Scope } from "effect"
import { SecureRandom } from "effect/crypto"
import type { SqlError } from "effect/sql"
import { READ_ONLY, sqlStateReason } from "../../domain/problems/postgresErrors.ts"
import { JobSignals, makeSignalBoard } from "../../services/jobs/JobSignals.ts"
import { databaseReason } from "../../services/storedRows.ts"
import { logChanges } from "../logChanges.ts"
import { connectionOf, type PostgresConfig } from "./PostgresClient.ts"

const CHANNEL = "sealgate_jobs"
const RECONNECT_EVERY = Schedule.spaced("1 second")
/** How often the connection is checked. After a failover it may lead to the former primary, which sends no notifications. */
const LOOK_EVERY = Duration.seconds(5)
/** Maximum number of topics that are sent together. */
const TOPICS_AT_ONCE = 150
/** Maximum number of waiting topics. While the database is away the oldest are dropped; waiters also poll. */
const MAX_WAITING = 2000
/** Postgres limits payloads to less than 8000 bytes; topics are ASCII. */
const MAX_PAYLOAD = 7900

const reasonOf = (error: SqlError.SqlError | typeof READ_ONLY): string =>
  error === READ_ONLY ? (sqlStateReason(error) ?? error) : databaseReason(error)

export const layerPostgresSignals = ({
  lookEvery = LOOK_EVERY,
  ...config
}: PostgresConfig & { readonly lookEvery?: Duration.Input | undefined }) =>
  Layer.effect(
    JobSignals,
    Effect.gen(function* () {
      const pg = yield* PgClient.PgClient
      const board = yield* makeSignalBoard
      /** Identifies this process's notifications. */
      const self = SecureRandom.uuidV4Unsafe()
      const { back, lost } = logChanges(
        (reason: string) => Effect.logWarning(`Lost the notification connection: ${reason}`),
        Effect.logInfo("The notification connection is back"),
      )

      const receive = (payload: string): void => {
        const [sender, ...topics] = payload.split(" ")
        if (sender !== self) for (const topic of topics) board.wake(topic)
      }

      const listen = Effect.scoped(
        Effect.gen(function* () {
          // Stopping to listen is a statement, which a hanging server would never answer. So the connection is closed
          // first; finalizers run in reverse.
          const listening = yield* Effect.acquireRelease(Scope.make(), Scope.close)
          const connection = yield* Effect.flatMap(PgConnection.make(connectionOf(config)), ({ pin }) => pin)
          const check = connection.query("SHOW transaction_read_only").pipe(
            Effect.filterOrFail(
              ({ rows }) => rows[0]?.["transaction_read_only"] !== "on",
              (): typeof READ_ONLY => READ_ONLY,
            ),
          )
          const notifications = yield* Scope.provide(connection.listen(CHANNEL), listening)
          yield* check
          yield* back
          // Notifications were lost while the connection was down, so all waiters check the database.
          board.wakeAll()
          return yield* Effect.raceFirst(
            Effect.forever(Effect.map(Queue.take(notifications), (notification) => receive(notification.payload))),
            Effect.forever(Effect.andThen(Effect.sleep(lookEvery), check)),
          )
        }),
      )
      yield* listen.pipe(
        Effect.tapError((error) => lost(reasonOf(error))),
        Effect.retry(RECONNECT_EVERY),
        Effect.forkScoped,
      )

      /** Topics not sent yet. They are collected while a notification is being sent. */
      const outbox = yield* Queue.sliding<string>(MAX_WAITING)
      const send = Effect.gen(function* () {
        const topics = new Set(yield* Queue.takeBetween(outbox, 1, TOPICS_AT_ONCE))
        // If sending fails, waiters find the change when they poll.
        yield* Effect.forEach(
          payloadsOf(self, topics),
          (payload) => Effect.ignore(pg`SELECT pg_notify(${CHANNEL}, ${payload})`),
          { discard: true },
        )
      })
      yield* Effect.forkScoped(Effect.forever(send))

      return JobSignals.of({
        publish: (topic) =>
          pg.afterCommit(
            Effect.sync(() => {
              board.wake(topic)
              Queue.offerUnsafe(outbox, topic)
            }),
          ),
        subscribe: (...topics) => board.subscribe(topics),
        listen: (onTopic) => board.listen(onTopic),
      })
    }),
  )

/** Packs topics behind their sender into as few messages as possible. */
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
