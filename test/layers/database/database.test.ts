import { assert, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Latch, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { migrations } from "../../../src/layers/database/migrations.ts"
import { describeDatabases } from "../../support/databases.ts"

const THINGS = `CREATE TABLE things (id TEXT PRIMARY KEY, at BIGINT, n INTEGER NOT NULL, note TEXT)`

describeDatabases("database", (database) => {
  const test = <E>(name: string, body: (sql: SqlClient.SqlClient) => Effect.Effect<void, E>) =>
    it.live(name, () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql.unsafe(THINGS)
        yield* body(sql)
      }).pipe(Effect.provide(database.layer)),
    )

  test("returns integers as numbers and text unchanged", (sql) =>
    Effect.gen(function* () {
      const rows = [
        { id: "a", at: 1_800_000_000_123, n: -5, note: "žluť 🦭 'quoted' \\ \"x\"" },
        { id: "b", at: null, n: 2 ** 31 - 1, note: null },
      ] as const
      yield* sql`INSERT INTO things ${sql.insert(rows)}`
      assert.deepStrictEqual(
        (yield* sql`SELECT * FROM things ORDER BY id`).map((row) => ({ ...row })),
        [...rows],
      )
      assert.deepStrictEqual(yield* sql`SELECT id, at FROM things ORDER BY id`.values, [
        ["a", 1_800_000_000_123],
        ["b", null],
      ])
      const streamed = yield* Stream.runCollect(sql<{ id: string }>`SELECT id FROM things ORDER BY id`.stream)
      assert.deepStrictEqual(
        streamed.map((row) => row.id),
        ["a", "b"],
      )
      assert.deepStrictEqual(
        (yield* sql`UPDATE things SET n = ${7} WHERE id = ${"a"} RETURNING n`).map((row) => row["n"]),
        [7],
      )
    }))

  test("names the kind of an error", (sql) =>
    Effect.gen(function* () {
      yield* sql`INSERT INTO things ${sql.insert({ id: "a", n: 1 })}`
      const duplicate = yield* Effect.flip(sql`INSERT INTO things ${sql.insert({ id: "a", n: 1 })}`)
      assert.include(["UniqueViolation", "ConstraintError"], duplicate.reason._tag)
      const missing = yield* Effect.flip(sql`INSERT INTO things ${sql.insert({ id: "b", n: null })}`)
      assert.strictEqual(missing.reason._tag, "ConstraintError")
      yield* Effect.flip(sql`SELECT nothing FROM nowhere`)
      assert.strictEqual((yield* sql`SELECT id FROM things`).length, 1)
    }))

  test("rolls back a transaction that fails or is interrupted, and a savepoint alone", (sql) =>
    Effect.gen(function* () {
      const add = (id: string) => sql`INSERT INTO things ${sql.insert({ id, n: 1 })}`
      const failed = yield* Effect.exit(sql.withTransaction(Effect.andThen(add("failed"), Effect.fail("no"))))
      assert.isTrue(Exit.isFailure(failed))

      const inside = yield* Latch.make()
      const fiber = yield* Effect.forkChild(
        sql.withTransaction(Effect.andThen(add("interrupted"), Effect.andThen(inside.open, Effect.never))),
      )
      yield* inside.await
      yield* Fiber.interrupt(fiber)

      yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* add("outer")
          yield* Effect.exit(sql.withTransaction(Effect.andThen(add("inner"), Effect.fail("no"))))
        }),
      )
      assert.deepStrictEqual(
        (yield* sql<{ id: string }>`SELECT id FROM things`).map((row) => row.id),
        ["outer"],
      )
    }))

  test("loses no update when transactions read and write at the same time", (sql) =>
    Effect.gen(function* () {
      yield* sql`INSERT INTO things ${sql.insert({ id: "counter", n: 0 })}`
      const lock = sql.onDialectOrElse({ pg: () => sql.literal("FOR UPDATE"), orElse: () => sql.literal("") })
      const increment = sql.withTransaction(
        Effect.gen(function* () {
          const rows = yield* sql<{ n: number }>`SELECT n FROM things WHERE id = ${"counter"} ${lock}`
          yield* Effect.yieldNow
          yield* sql`UPDATE things SET n = ${(rows[0]?.n ?? 0) + 1} WHERE id = ${"counter"}`
        }),
      )
      yield* Effect.all(
        Array.from({ length: 50 }, () => increment),
        { concurrency: "unbounded" },
      )
      assert.deepStrictEqual(
        (yield* sql<{ n: number }>`SELECT n FROM things`).map((row) => row.n),
        [50],
      )
    }))

  it.live("keeps committed data when it is opened again", () =>
    Effect.gen(function* () {
      const layer = yield* database.create
      yield* SqlClient.SqlClient.use((sql) =>
        Effect.andThen(sql.unsafe(THINGS), sql`INSERT INTO things ${sql.insert({ id: "kept", n: 1 })}`),
      ).pipe(Effect.provide(layer))
      const rows = yield* SqlClient.SqlClient.use((sql) => sql<{ id: string }>`SELECT id FROM things`).pipe(
        Effect.provide(layer),
      )
      assert.deepStrictEqual(
        rows.map((row) => row.id),
        ["kept"],
      )
    }),
  )

  it.live("applies every migration once when several processes start at the same time", () =>
    Effect.gen(function* () {
      const layer = yield* database.create
      const start = Effect.provide(
        SqlClient.SqlClient.use(
          (sql) => sql<{ name: string }>`SELECT name FROM sealgate_migrations ORDER BY migration_id`,
        ),
        layer,
        { local: true },
      )
      const seen = yield* Effect.all(
        Array.from({ length: 4 }, () => start),
        {
          concurrency: database.kind === "postgres" ? 4 : 2,
        },
      )
      for (const rows of seen) {
        assert.deepStrictEqual(
          rows.map((row) => row.name),
          migrations.map(({ name }) => name),
        )
      }
    }),
  )

  it.live("is refused if migrations of another version made it, and the error names them", () =>
    Effect.gen(function* () {
      for (const [change, named] of [
        ["UPDATE sealgate_migrations SET name = 'jobs 0123456789abcdef' WHERE migration_id = 2", "jobs"],
        // As written by versions that stored no hashes.
        ["UPDATE sealgate_migrations SET name = 'agents' WHERE migration_id = 1", "agents"],
        ["INSERT INTO sealgate_migrations (migration_id, name) VALUES (99, 'things 0123456789abcdef')", "things"],
      ] as const) {
        const layer = yield* database.create
        const open = (text: string) =>
          SqlClient.SqlClient.use((sql) => sql.unsafe(text)).pipe(Effect.provide(layer, { local: true }))
        yield* open("SELECT 1")
        yield* open(change)
        const refused = yield* Effect.flip(open("SELECT 1"))
        assert.strictEqual(refused._tag, "SchemaUnknown")
        assert.include(refused.message, `differs in ${named}.`)
      }
    }),
  )
})
