/** Cost of the gateway's readiness and metrics for the database. */
import { existsSync } from "node:fs"
import { statfs } from "node:fs/promises"
import { assert, it } from "@effect/vitest"
import { Context, Duration, Effect, Fiber, Layer, Logger } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, Statement } from "effect/sql"
import { TestClock } from "effect/testing"
import { layerSqlite } from "../../src/layers/database/Database.ts"
import { layerReadiness } from "../../src/layers/GatewayReadiness.ts"
import { StorageUnavailable } from "../../src/domain/operations/storage.ts"
import { Jobs } from "../../src/services/jobs/Jobs.ts"
import { Drain } from "../../src/services/lifecycle/Drain.ts"
import { measureAll } from "../../src/services/lifecycle/MeasuredGauges.ts"
import { ReadinessProbe } from "../../src/services/lifecycle/ReadinessProbe.ts"
import { Upstream } from "../../src/services/upstream/Upstream.ts"

const AWAY = "it does not answer; the log has the reason"

it.effect("readiness and metrics share one query of the jobs, cached for a second", () => {
  const database = { looked: 0, away: false }
  const queueState = Effect.gen(function* () {
    database.looked += 1
    yield* Effect.sleep("10 millis")
    if (database.away) return yield* new StorageUnavailable()
    return { queued: database.looked, running: 0, oldestQueuedMs: 0 }
  })
  const layer = layerReadiness({ databaseUrl: { kind: "sqlite", filename: "jobs.db" } }).pipe(
    Layer.provide([Layer.mock(Jobs, { queueState }), Upstream.layerEcho, Drain.layer({ grace: Duration.seconds(1) })]),
    Layer.provideMerge(layerSqlite({ filename: ":memory:" })),
  )
  return Effect.gen(function* () {
    const { report } = yield* ReadinessProbe
    const sql = yield* SqlClient.SqlClient
    /** Answers to three concurrent readers, one of them of the metrics. */
    const askAtOnce = Effect.gen(function* () {
      const asked = yield* Effect.forkChild(
        Effect.all([report, Effect.andThen(measureAll, report), report], { concurrency: "unbounded" }),
      )
      yield* TestClock.adjust("10 millis")
      return yield* Fiber.join(asked)
    })
    for (const said of yield* askAtOnce) assert.deepInclude(said, { status: "ready", queue: { depth: 1 } })
    assert.strictEqual(database.looked, 1)
    yield* TestClock.adjust("999 millis")
    assert.deepInclude(yield* report, { queue: { depth: 1 } })

    // Setting the clock back must not make it last.
    yield* TestClock.setTime(0)
    yield* TestClock.adjust("1 second")
    database.away = true
    yield* sql`ALTER TABLE jobs RENAME TO away`
    for (const said of yield* askAtOnce) {
      assert.deepInclude(said, { status: "unavailable", database: { kind: "sqlite", ok: false, reason: AWAY } })
    }
    assert.strictEqual(database.looked, 2)
  }).pipe(Effect.provide(layer))
})

/** Returns the report of a gateway whose count of jobs never ends, asked for `moment` ago. */
const slowlyCounted = Effect.fnUntraced(function* (
  layerDatabase: Layer.Layer<SqlClient.SqlClient, unknown>,
  moment: Duration.Input,
) {
  const layer = layerReadiness({ databaseUrl: { kind: "sqlite", filename: ":memory:" } }).pipe(
    Layer.provide([
      Layer.mock(Jobs, { queueState: Effect.never }),
      Upstream.layerEcho,
      Drain.layer({ grace: Duration.seconds(1) }),
    ]),
    Layer.provide(layerDatabase),
  )
  const { report } = Context.get(yield* Layer.build(layer), ReadinessProbe)
  const asked = yield* Effect.forkChild(report)
  yield* TestClock.adjust(moment)
  return yield* Fiber.join(asked)
})

it.effect("a gateway is ready, without the depth of its queue, while counting the queue takes long", () =>
  Effect.gen(function* () {
    const said = yield* slowlyCounted(layerSqlite({ filename: ":memory:" }), "500 millis")
    assert.deepInclude(said, { status: "ready", database: { kind: "sqlite", ok: true } })
    assert.notProperty(said, "queue")
  }),
)

/** Never lends a connection. */
const layerHanging = Layer.effect(
  SqlClient.SqlClient,
  SqlClient.make({
    driver: "none",
    acquirer: Effect.never,
    compiler: Statement.makeCompilerSqlite(),
    spanAttributes: [],
  }),
).pipe(Layer.provide(Reactivity.layer))

it.effect("a database that does not answer in time is logged, and the gateway not ready", () => {
  const lines: Array<string> = []
  const logger = Logger.make(({ message }) => void lines.push(String(message)))
  return Effect.gen(function* () {
    // Other tests may have logged the same at the beginning of their time.
    yield* TestClock.adjust("100 days")
    assert.deepInclude(yield* slowlyCounted(layerHanging, "2 seconds"), {
      status: "unavailable",
      database: { kind: "sqlite", ok: false, reason: AWAY },
    })
    assert.deepStrictEqual(lines, ["The database failed: Timeout"])
  }).pipe(Effect.provide(Logger.layer([logger])))
})

// A file system that always exists and has no free space.
it.effect.runIf(existsSync("/proc/version"))("a gateway whose database's disk is full is not ready", () =>
  Effect.gen(function* () {
    const { report } = yield* ReadinessProbe
    const reason = "less than 8 MiB are free on the disk of /proc/version"
    assert.deepInclude(yield* report, { status: "unavailable", database: { kind: "sqlite", ok: false, reason } })
  }).pipe(
    Effect.provide(
      layerReadiness({ databaseUrl: { kind: "sqlite", filename: "/proc/version" } }).pipe(
        Layer.provide([
          layerSqlite({ filename: ":memory:" }),
          Layer.mock(Jobs, { queueState: Effect.succeed({ queued: 0, running: 0, oldestQueuedMs: 0 }) }),
          Upstream.layerEcho,
          Drain.layer({ grace: Duration.seconds(1) }),
        ]),
      ),
    ),
  ),
)

it.effect.runIf(existsSync("/proc/version"))("a disk that is full is logged once, although nobody asks", () =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const logger = Logger.make(({ logLevel, message }) => void lines.push(`${logLevel}: ${String(message)}`))
    const layer = layerReadiness({ databaseUrl: { kind: "sqlite", filename: "/proc/version" } }).pipe(
      Layer.provide([Layer.mock(Jobs, {}), Upstream.layerEcho, Drain.layer({ grace: Duration.seconds(1) })]),
      Layer.provide(layerSqlite({ filename: ":memory:" })),
      Layer.provide(Logger.layer([logger])),
    )
    yield* Layer.build(layer)
    for (let i = 0; i < 3; i++) {
      yield* TestClock.adjust("10 seconds")
      // The disk is measured in real time.
      yield* Effect.promise(() => statfs("/proc/version"))
    }
    assert.deepStrictEqual(
      lines.filter((line) => line.includes("disk")),
      [
        "Error: The database cannot grow: less than 8 MiB are free on the disk of /proc/version. " +
          "Free space there; until then this gateway is not ready",
      ],
    )
  }),
)
