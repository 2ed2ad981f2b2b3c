import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { layerPostgres } from "../../../src/layers/database/Database.ts"
import { layerPostgresClient } from "../../../src/layers/database/PostgresClient.ts"
import { layerPostgresReachable } from "../../../src/layers/database/PostgresReachable.ts"
import { postgresCanStart, privatePostgres } from "../../support/privatePostgres.ts"
import { freePort } from "../../support/freePort.ts"

/** The log lines, in order. */
const heard = () => {
  const lines: Array<string> = []
  return { lines, logger: Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))]) }
}

const until = (isSo: () => boolean) =>
  Effect.gen(function* () {
    while (!isSo()) yield* Effect.sleep("20 millis")
  })

const reach = (url: string) =>
  Effect.scoped(
    Effect.provide(Effect.void, layerPostgresReachable({ url: Redacted.make(url), patience: 0 }), { local: true }),
  ).pipe(Effect.provide(layerPostgresClient({ url: Redacted.make(url) }), { local: true }))

describe("a start on Postgres", () => {
  it.live("fails without a server with its address and the reason, but not the password", () =>
    Effect.gen(function* () {
      const port = yield* Effect.promise(freePort)
      const error = yield* Effect.flip(reach(`postgres://alice:canary@127.0.0.1:${port}/jobs`))
      assert.deepInclude(error, {
        _tag: "DatabaseUnreachable",
        place: `127.0.0.1:${port}/jobs`,
        reason: "ECONNREFUSED",
      })
      assert.include(error.message, "DATABASE_URL")
      assert.include(error.message, "nothing listens there")
      assert.notInclude(error.message, "canary")
    }),
  )

  it.live.runIf(postgresCanStart)(
    "waits for a server that is starting, but not for a database that does not exist",
    () =>
      Effect.gen(function* () {
        const postgres = yield* privatePostgres
        const missing = yield* Effect.flip(reach(postgres.url.replace(/\w+$/, "nowhere")))
        assert.deepInclude(missing, { _tag: "DatabaseUnreachable", reason: "3D000" })

        yield* postgres.stop("fast")
        const layer = layerPostgres({ url: Redacted.make(postgres.url) })
        const starting = yield* Effect.forkChild(
          Effect.provide(
            SqlClient.SqlClient.use((sql) => sql<{ one: number }>`SELECT 1 AS one`),
            layer,
          ),
        )
        yield* Effect.sleep("2 seconds")
        yield* postgres.start
        assert.deepStrictEqual(
          (yield* Fiber.join(starting)).map(({ one }) => one),
          [1],
        )
      }),
  )

  it.live("logs immediately which server it waits for", () =>
    Effect.gen(function* () {
      const place = `127.0.0.1:${yield* Effect.promise(freePort)}/jobs`
      const { lines, logger } = heard()
      const url = Redacted.make(`postgres://alice:canary@${place}`)
      const starting = yield* Effect.forkChild(
        Effect.void.pipe(
          Effect.provide(
            layerPostgresReachable({ url }).pipe(Layer.provide(layerPostgresClient({ url })), Layer.provide(logger)),
          ),
        ),
      )
      yield* until(() => lines.length > 0)
      yield* Fiber.interrupt(starting)
      assert.deepStrictEqual(lines, [`waiting up to 10s for the database at ${place}: nothing listens there`])
    }),
  )
})

describe("a Postgres that stops after the start", () => {
  it.live.runIf(postgresCanStart)("is logged once with its address each time it goes and each time it returns", () =>
    Effect.gen(function* () {
      const postgres = yield* privatePostgres
      const { host, pathname } = new URL(postgres.url)
      const url = Redacted.make(postgres.url)
      const { lines, logger } = heard()
      yield* Layer.build(
        layerPostgresReachable({ url, lookEvery: "100 millis" }).pipe(
          Layer.provide(layerPostgresClient({ url })),
          Layer.provide(logger),
        ),
      )
      for (let times = 0; times < 2; times++) {
        yield* postgres.stop("fast")
        yield* until(() => lines.length > 0)
        yield* postgres.start
        yield* until(() => lines.length > 1)
        const [away = "", ...back] = lines.splice(0)
        assert.match(away, new RegExp(`^The database at ${RegExp.escape(host + pathname)} does not answer: `))
        assert.deepStrictEqual(back, [`The database at ${host}${pathname} is back`])
      }
    }),
  )
})
