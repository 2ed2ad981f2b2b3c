/** Job signals between two processes on one Postgres. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Logger, Redacted, Schedule } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { JobId } from "../../../src/domain/jobs/job.ts"
import { layerPostgres } from "../../../src/layers/database/Database.ts"
import { layerPostgresClient } from "../../../src/layers/database/PostgresClient.ts"
import { layerPostgresSignals } from "../../../src/layers/database/PostgresSignals.ts"
import { begun, ended, JobSignals } from "../../../src/services/jobs/JobSignals.ts"
import { cutConnections, listeningConnections, postgresIsThere, postgresSchema } from "../../support/databases.ts"
import { postgresCanStart, privatePostgres, runOn, setReadOnly } from "../../support/privatePostgres.ts"
import { start, use } from "../../support/jobs.ts"
import { withinTurns } from "../../support/withinTurns.ts"

/** Below the 5 s after which waiters look without a signal. */
const soon = withinTurns("4 seconds")

const newId = () => JobId.make(SecureRandom.uuidV7Unsafe())

const setUp = Effect.gen(function* () {
  const url = yield* postgresSchema
  const lines: Array<string> = []
  const logger = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
  const process = start(layerPostgres({ url: Redacted.make(url), maxConnections: 2 }).pipe(Layer.provide(logger)))
  const untilListening = Effect.repeat(listeningConnections(url), {
    until: (count) => count === 2,
    schedule: Schedule.spaced("20 millis"),
  })
  const [one, other] = [(yield* process).context, (yield* process).context]
  yield* untilListening
  return {
    url,
    lines,
    untilListening,
    one,
    sender: Context.get(one, JobSignals),
    receiver: Context.get(other, JobSignals),
  }
})

describe.runIf(postgresCanStart)("a notification connection to a server that became read-only", () => {
  it.live("is logged once, and is replaced by one to a server that takes writes", () =>
    Effect.gen(function* () {
      const postgres = yield* privatePostgres
      const url = Redacted.make(postgres.url)
      const lines: Array<string> = []
      const logger = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
      yield* Layer.build(
        layerPostgresSignals({ url, lookEvery: "100 millis" }).pipe(
          Layer.provide(layerPostgresClient({ url })),
          Layer.provide(logger),
        ),
      )
      const listeners = "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LISTEN %' OR query LIKE 'SHOW %'"
      yield* Effect.repeat(runOn(postgres.url, listeners), { until: ([rows]) => rows?.length === 1 })
      const untilLines = (count: number) =>
        Effect.repeat(Effect.sleep("20 millis"), { until: () => lines.length >= count })
      yield* setReadOnly(postgres.url, "on")
      yield* untilLines(1)
      yield* setReadOnly(postgres.url, "off")
      yield* untilLines(2)
      assert.deepStrictEqual(lines, [
        "Lost the notification connection: it is read-only, after a failover or because its disk is full (25006)",
        "The notification connection is back",
      ])
    }),
  )
})

describe.skipIf(!postgresIsThere)("signals of another process", () => {
  it.live("all arrive, however many and however long they are", () =>
    Effect.gen(function* () {
      const { one, receiver, sender } = yield* setUp
      const topics = Array.from({ length: 400 }, (_, index) => begun(newId(), `${index}-${"x".repeat(200)}`, false))
      const sent = new Set<string>(topics)
      const heard = new Set<string>()
      // Other tests' processes send on the channel of the same database.
      yield* receiver.listen((topic) => {
        if (sent.has(topic)) heard.add(topic)
      })
      yield* use(
        one,
        SqlClient.SqlClient.use((sql) => sql.withTransaction(Effect.forEach(topics, sender.publish))),
      )
      yield* Effect.sleep("10 millis").pipe(Effect.repeat({ until: () => heard.size === topics.length }), soon)
      assert.deepStrictEqual([...heard], topics)
    }),
  )

  it.live("that were lost while the connection was down wake waiters once it is back", () =>
    Effect.gen(function* () {
      const { receiver, sender, url } = yield* setUp
      const job = newId()
      const { next } = yield* receiver.subscribe(ended(job))
      const waiting = yield* Effect.forkChild(next)
      yield* cutConnections(url)
      // Its receiver tries to connect again after a second.
      yield* sender.publish(ended(job))
      yield* soon(Fiber.join(waiting))
    }),
  )

  it.live("are logged once each time they stop and each time they resume", () =>
    Effect.gen(function* () {
      const { lines, untilListening, url } = yield* setUp
      const count = (text: string) => lines.filter((line) => line.includes(text)).length
      for (let times = 1; times <= 2; times++) {
        yield* cutConnections(url)
        yield* untilListening
        // One line of each process.
        const isBack = () => count("The notification connection is back") === 2 * times
        yield* Effect.repeat(Effect.sleep("10 millis"), { until: isBack })
        assert.strictEqual(count("Lost the notification connection"), 2 * times)
      }
    }),
  )
})
