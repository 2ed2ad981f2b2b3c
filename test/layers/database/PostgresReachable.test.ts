import * as PgConnection from "@effect/sql-pg/PgConnection"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Logger, Redacted, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { layerPostgres } from "../../../src/layers/database/Database.ts"
import { connectionOf, layerPostgresClient } from "../../../src/layers/database/PostgresClient.ts"
import { layerPostgresReachable } from "../../../src/layers/database/PostgresReachable.ts"
import { offerTls, postgresCanStart, privatePostgres, runOn, setReadOnly } from "../../support/privatePostgres.ts"
import { postgresDatabase, postgresIsThere } from "../../support/databases.ts"
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

/** Watches a server often. */
const watched = Effect.fnUntraced(function* (server: string, maxConnections?: number) {
  const url = Redacted.make(server)
  const { host, pathname } = new URL(server)
  const { lines, logger } = heard()
  const context = yield* Layer.build(
    layerPostgresReachable({ url, lookEvery: "100 millis" }).pipe(
      Layer.provideMerge(layerPostgresClient({ url, maxConnections })),
      Layer.provide(logger),
    ),
  )
  return { lines, place: `${host}${pathname}`, sql: Context.get(context, SqlClient.SqlClient) }
})

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

  it.live.skipIf(!postgresIsThere)("warns of a database whose transactions are stricter than read committed", () =>
    Effect.gen(function* () {
      const linesOf = Effect.fnUntraced(function* (settings: Readonly<Record<string, string>>) {
        const { lines, logger } = heard()
        yield* Effect.provide(reach(yield* postgresDatabase(settings)), logger)
        return lines
      })
      assert.deepStrictEqual(yield* linesOf({}), [])
      const [line = "", ...more] = yield* linesOf({ default_transaction_isolation: "serializable" })
      assert.include(line, "begins transactions as serializable")
      assert.include(line, "SET default_transaction_isolation = 'read committed'")
      assert.deepStrictEqual(more, [])
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

const READ_ONLY = "it is read-only, after a failover or because its disk is full (25006)"

describe.runIf(postgresCanStart)("a start on a Postgres that cannot be used yet", () => {
  it.live("waits for a connection, and for a server that takes writes", () =>
    Effect.gen(function* () {
      const postgres = yield* privatePostgres
      yield* runOn(postgres.url, "CREATE ROLE guest LOGIN CONNECTION LIMIT 1")
      const guest = Object.assign(new URL(postgres.url), { username: "guest" })
      const place = `${guest.host}${guest.pathname}`
      const url = Redacted.make(guest.toString())
      const starts = Effect.fnUntraced(function* (reason: string, unblock: Effect.Effect<unknown, unknown>) {
        const { lines, logger } = heard()
        const starting = yield* Effect.forkScoped(
          Effect.void.pipe(
            Effect.provide(
              layerPostgresReachable({ url, patience: "1 minute" }).pipe(
                Layer.provide(layerPostgresClient({ url, maxConnections: 1 })),
                Layer.provide(logger),
              ),
              { local: true },
            ),
          ),
        )
        yield* Effect.raceFirst(
          until(() => lines.length > 0),
          Fiber.join(starting),
        )
        yield* unblock
        yield* Fiber.join(starting)
        assert.deepStrictEqual(lines, [`waiting up to 1m for the database at ${place}: ${reason}`])
      })

      const only = yield* Scope.make()
      yield* Scope.provide(
        Effect.flatMap(PgConnection.make(connectionOf({ url })), (connection) => connection.query("SELECT 1", [])),
        only,
      )
      yield* starts("it has no connection left (53300)", Scope.close(only, Exit.void))

      yield* runOn(postgres.url, "ALTER ROLE guest CONNECTION LIMIT -1")
      yield* setReadOnly(postgres.url, "on")
      yield* starts(READ_ONLY, setReadOnly(postgres.url, "off"))
    }),
  )
})

describe("a Postgres whose certificate nobody trusts", () => {
  it.live.runIf(postgresCanStart)("is refused wherever TLS is asked for", () =>
    Effect.gen(function* () {
      const { url } = yield* privatePostgres
      // The driver would use plain text if the server offered no TLS.
      yield* reach(`${url}?sslmode=prefer`)
      yield* offerTls(url)
      yield* reach(`${url}?sslmode=disable`)
      for (const mode of ["prefer", "require", "verify-ca", "verify-full"]) {
        const error = yield* Effect.flip(reach(`${url}?sslmode=${mode}`))
        assert.include(error.message, "certificate", mode)
      }
    }),
  )
})

describe("a Postgres that stops after the start", () => {
  it.live.runIf(postgresCanStart)("is logged once when it becomes read-only, and when it takes writes again", () =>
    Effect.gen(function* () {
      const postgres = yield* privatePostgres
      const { lines, place } = yield* watched(postgres.url)
      yield* setReadOnly(postgres.url, "on")
      yield* until(() => lines.length > 0)
      yield* setReadOnly(postgres.url, "off")
      yield* until(() => lines.length > 1)
      assert.deepStrictEqual(lines, [
        `The database at ${place} cannot be written: ${READ_ONLY}`,
        `The database at ${place} can be written again`,
      ])
    }),
  )

  it.live.runIf(postgresCanStart)("ends its session on the former primary, within the limit of connections", () =>
    Effect.gen(function* () {
      const postgres = yield* privatePostgres
      yield* runOn(postgres.url, "CREATE ROLE guest LOGIN CONNECTION LIMIT 1")
      const guest = Object.assign(new URL(postgres.url), { username: "guest" })
      const { lines, place, sql } = yield* watched(guest.toString(), 1)
      // The session of a former primary. The next session leads to the new one.
      yield* sql`SET default_transaction_read_only = on`
      yield* until(() => lines.length > 1)
      assert.deepStrictEqual(lines, [
        `The database at ${place} cannot be written: ${READ_ONLY}`,
        `The database at ${place} can be written again`,
      ])
    }),
  )

  it.live.runIf(postgresCanStart)("is logged once with its address each time it goes and each time it returns", () =>
    Effect.gen(function* () {
      const postgres = yield* privatePostgres
      const { lines, place } = yield* watched(postgres.url)
      for (let times = 0; times < 2; times++) {
        yield* postgres.stop("fast")
        yield* until(() => lines.length > 0)
        yield* postgres.start
        yield* until(() => lines.length > 1)
        const [away = "", ...back] = lines.splice(0)
        assert.match(away, new RegExp(`^The database at ${RegExp.escape(place)} does not answer: `))
        assert.deepStrictEqual(back, [`The database at ${place} is back`])
      }
    }),
  )
})
