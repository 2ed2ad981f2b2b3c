/** Transactions of the embedded database that share a commit return only once they are on disk. */
import { DatabaseSync } from "node:sqlite"
import { assert, describe, it, vi } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { SqlClient } from "effect/sql"
import * as fc from "fast-check"
import { layerSqliteClient } from "../../../src/layers/database/SqliteClient.ts"
import { sqliteFile } from "../../support/databases.ts"

/** The file's content as another process reads it. */
const onDisk = (filename: string): ReadonlyArray<number> => {
  const database = new DatabaseSync(filename, { readOnly: true })
  try {
    const rows = database.prepare("SELECT n FROM numbers ORDER BY n").all()
    return rows.map((row) => Number(row["n"]))
  } finally {
    database.close()
  }
}

const withNumbers = <A, E>(use: (filename: string) => Effect.Effect<A, E, SqlClient.SqlClient>) =>
  Effect.gen(function* () {
    const filename = yield* sqliteFile
    yield* Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE numbers (n INTEGER PRIMARY KEY, text TEXT NOT NULL)`
      yield* use(filename)
    }).pipe(Effect.provide(layerSqliteClient({ filename })))
  }).pipe(Effect.scoped)

const insert = (n: number, text = "") =>
  SqlClient.SqlClient.use((sql) => sql`INSERT INTO numbers (n, text) VALUES (${n}, ${text})`)

const inTransaction = <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>) =>
  SqlClient.SqlClient.use((sql) => sql.withTransaction(effect))

/** One of many concurrent transactions. */
type Work = "statement" | "transaction" | "savepoint" | "fails" | "is interrupted" | "repeats a number"

const worksOf = (work: Work, n: number): Effect.Effect<unknown, unknown, SqlClient.SqlClient> => {
  switch (work) {
    case "statement":
      return insert(n)
    case "transaction":
      return inTransaction(Effect.andThen(insert(n), Effect.yieldNow))
    case "savepoint":
      return inTransaction(
        Effect.andThen(insert(n), Effect.ignore(inTransaction(Effect.andThen(insert(-n), Effect.fail("no"))))),
      )
    case "fails":
      return inTransaction(Effect.andThen(insert(n), Effect.fail("no")))
    case "is interrupted":
      return inTransaction(Effect.andThen(insert(n), Effect.interrupt))
    case "repeats a number":
      return inTransaction(Effect.andThen(insert(n), insert(n)))
  }
}

describe("transactions that share a commit", () => {
  it.live("are atomic, and on disk when they return", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(
          fc.array(
            fc.constantFrom<Work>(
              "statement",
              "transaction",
              "savepoint",
              "fails",
              "is interrupted",
              "repeats a number",
            ),
            { minLength: 1, maxLength: 90 },
          ),
          (works) =>
            Effect.runPromise(
              withNumbers((filename) =>
                Effect.gen(function* () {
                  const done: Array<number> = []
                  yield* Effect.forEach(
                    works,
                    (work, index) =>
                      Effect.gen(function* () {
                        if (Exit.isFailure(yield* Effect.exit(worksOf(work, index + 1)))) return
                        assert.include(onDisk(filename), index + 1)
                        done.push(index + 1)
                      }),
                    { concurrency: "unbounded", discard: true },
                  )
                  assert.deepStrictEqual(
                    onDisk(filename),
                    done.toSorted((a, b) => a - b),
                  )
                  const wanted = works.filter((work) => ["statement", "transaction", "savepoint"].includes(work))
                  assert.strictEqual(done.length, wanted.length)
                }),
              ),
            ),
        ),
        { numRuns: 15 },
      ),
    ),
  )

  it.live("do not show uncommitted data", () =>
    withNumbers((filename) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const read = Effect.gen(function* () {
          const rows = yield* sql<{ n: number }>`SELECT n FROM numbers`
          assert.includeMembers(
            [...onDisk(filename)],
            rows.map(({ n }) => n),
          )
        })
        yield* Effect.forEach(
          Array.from({ length: 200 }, (_, n) => (n % 2 === 0 ? inTransaction(insert(n)) : read)),
          (work) => work,
          { concurrency: "unbounded", discard: true },
        )
        assert.lengthOf(onDisk(filename), 100)
      }),
    ),
  )

  it.live("wait only briefly for an endless series of others", () =>
    withNumbers((filename) =>
      Effect.gen(function* () {
        // Each takes about a millisecond, and the event loop has no turn in between.
        const text = "x".repeat(1_000_000)
        let found: ReadonlyArray<number> = []
        yield* Effect.forEach(
          Array.from({ length: 40 }, (_, n) => n),
          (n) => {
            if (n === 39) found = onDisk(filename)
            return insert(n, text)
          },
          { concurrency: "unbounded", discard: true },
        )
        assert.isAbove(found.length, 0)
      }),
    ),
  )

  it.live("wait for at most 64 others, however fast these are", () =>
    withNumbers((filename) =>
      Effect.gen(function* () {
        const clock = yield* Effect.acquireRelease(
          Effect.sync(() => vi.spyOn(performance, "now").mockReturnValue(performance.now())),
          (spy) => Effect.sync(() => spy.mockRestore()),
        )
        const found: Array<number> = []
        yield* Effect.forEach(
          Array.from({ length: 200 }, (_, n) => n),
          (n) => {
            found.push(onDisk(filename).length)
            return insert(n)
          },
          { concurrency: "unbounded", discard: true },
        )
        assert.isAbove(clock.mock.calls.length, 0)
        for (const [n, committed] of found.entries()) assert.isAtMost(n - committed, 64)
      }).pipe(Effect.scoped),
    ),
  )

  it.live("fail together when the disk is full, and work again once it has room", () =>
    withNumbers((filename) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const rows = yield* sql.unsafe<{ page_count: number }>("PRAGMA page_count")
        yield* sql.unsafe(`PRAGMA max_page_count = ${(rows[0]?.page_count ?? 0) + 10}`)
        const big = "x".repeat(3000)
        const exits = yield* Effect.forEach(
          Array.from({ length: 40 }, (_, n) => n),
          (n) => Effect.exit(inTransaction(insert(n, big))),
          { concurrency: "unbounded" },
        )
        const done = exits.flatMap((exit, n) => (Exit.isSuccess(exit) ? [n] : []))
        assert.isBelow(done.length, 40)
        assert.deepStrictEqual(onDisk(filename), done)
        yield* sql.unsafe("PRAGMA max_page_count = 100000")
        yield* inTransaction(insert(100, big))
        assert.deepStrictEqual(onDisk(filename), [...done, 100])
      }),
    ),
  )
})
