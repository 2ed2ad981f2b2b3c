import { assert, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { layerPostgresClient } from "../../../src/layers/database/PostgresClient.ts"
import { postgresIsThere, postgresSchema } from "../../support/databases.ts"

it.effect.runIf(postgresIsThere)(
  "a connection is replaced after five minutes, also one that is in use all the time",
  () =>
    Effect.gen(function* () {
      const url = yield* postgresSchema
      const session = SqlClient.SqlClient.use((sql) => sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`)
      const seen = yield* Effect.forEach(Array.from({ length: 12 }), () =>
        Effect.tap(session, () => TestClock.adjust("30 seconds")),
      ).pipe(Effect.provide(layerPostgresClient({ url: Redacted.make(url), maxConnections: 1 })))
      const pids = seen.map(([row]) => row?.pid)
      assert.deepStrictEqual(
        pids.map((pid) => pid === pids[0]),
        pids.map((_, i) => i < 10),
      )
    }),
)
