/** What asking the gateway for its state costs the database. */
import { existsSync } from "node:fs"
import { statfs } from "node:fs/promises"
import { assert, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
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
  )
  return Effect.gen(function* () {
    const { report } = yield* ReadinessProbe
    /** What three that ask at once are told, the metrics' reader among them. */
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
    yield* TestClock.adjust("1 millis")
    database.away = true
    for (const said of yield* askAtOnce) {
      assert.deepInclude(said, { status: "unavailable", database: { kind: "sqlite", ok: false, reason: AWAY } })
    }
    assert.strictEqual(database.looked, 2)
  }).pipe(Effect.provide(layer))
})

// Of the file systems that are always there, one without any room.
it.effect.runIf(existsSync("/proc/version"))("a gateway whose database's disk is full is not ready", () =>
  Effect.gen(function* () {
    const { report } = yield* ReadinessProbe
    const reason = "less than 8 MiB are free on the disk of /proc/version"
    assert.deepInclude(yield* report, { status: "unavailable", database: { kind: "sqlite", ok: false, reason } })
  }).pipe(
    Effect.provide(
      layerReadiness({ databaseUrl: { kind: "sqlite", filename: "/proc/version" } }).pipe(
        Layer.provide([
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
