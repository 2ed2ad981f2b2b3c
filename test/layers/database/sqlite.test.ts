import { spawn } from "node:child_process"
import { linkSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { layerSqlite } from "../../../src/layers/database/Database.ts"
import { layerSqliteOwner } from "../../../src/layers/database/SqliteOwner.ts"
import { sqliteFile } from "../../support/databases.ts"
import { withinTurns } from "../../support/withinTurns.ts"

describe("embedded database", () => {
  it.live("survives power loss and keeps its files private", () =>
    Effect.gen(function* () {
      const filename = yield* sqliteFile
      const pragmas = Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const values = yield* Effect.forEach(["journal_mode", "synchronous", "foreign_keys"], (name) =>
          Effect.map(sql.unsafe(`PRAGMA ${name}`).values, (rows) => rows[0]?.[0]),
        )
        assert.deepStrictEqual(values, ["wal", 2, 1])
        for (const suffix of ["", "-wal", ".lock"]) {
          assert.strictEqual(statSync(filename + suffix).mode & 0o077, 0, suffix)
        }
      })
      yield* Effect.provide(pragmas, layerSqlite({ filename }))
    }),
  )

  it.live("belongs to one process until that closes it or dies", () =>
    Effect.gen(function* () {
      const filename = yield* sqliteFile
      const own = layerSqliteOwner(filename, { patience: 50 })
      const attempt = Layer.build(own).pipe(Effect.scoped)
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* Layer.build(own)
          const refused = yield* Effect.flip(attempt)
          assert.strictEqual(refused._tag, "DatabaseInUse")
          assert.include(refused.message, filename)
        }),
      )
      yield* attempt

      const child = yield* Effect.acquireRelease(
        Effect.sync(() =>
          spawn(process.execPath, [
            "--eval",
            `new (require("node:sqlite").DatabaseSync)(${JSON.stringify(`${filename}.lock`)}).exec("BEGIN EXCLUSIVE");` +
              `process.stdout.write("locked"); setInterval(() => {}, 1000)`,
          ]),
        ),
        (child) => Effect.sync(() => child.kill("SIGKILL")),
      )
      yield* Effect.callback((resume) => void child.stdout.once("data", () => resume(Effect.void)))
      yield* Effect.flip(attempt)
      yield* Effect.callback((resume) => {
        child.once("exit", () => resume(Effect.void))
        child.kill("SIGKILL")
      })
      yield* attempt
    }),
  )

  it.live("belongs to one process under all its names", () =>
    Effect.gen(function* () {
      const [filename, elsewhere] = [yield* sqliteFile, yield* sqliteFile]
      const folder = join(dirname(elsewhere), "folder")
      symlinkSync(filename, elsewhere)
      symlinkSync(dirname(filename), folder)
      const names = [filename, elsewhere, join(folder, "gateway.db")]
      for (const first of names) {
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* Layer.build(layerSqliteOwner(first, { patience: 50 }))
            for (const second of names) {
              const refused = yield* Effect.flip(Layer.build(layerSqliteOwner(second, { patience: 50 })))
              assert.strictEqual(refused._tag, "DatabaseInUse")
              assert.include(refused.message, second)
            }
          }),
        )
      }
      linkSync(filename, join(dirname(elsewhere), "hard.db"))
      const refused = yield* Effect.flip(Layer.build(layerSqliteOwner(filename)))
      assert.strictEqual(refused._tag, "DatabaseFileUnusable")
      assert.include(refused.message, "hard links")
    }),
  )

  it.live("fails at once with the reason if the place is unusable", () =>
    Effect.gen(function* () {
      const folder = dirname(yield* sqliteFile)
      const inside = (name: string) => join(folder, name)
      writeFileSync(inside("a-file"), "")
      mkdirSync(inside("a-folder"))
      mkdirSync(inside("locked.db.lock"))
      writeFileSync(inside("other.db.lock"), "x".repeat(1000))
      const refusalOf = (filename: string) => Effect.flip(Layer.build(layerSqlite({ filename })))
      for (const [name, reason] of [
        ["a-file/deeper/gateway.db", "part of its path is not a folder"],
        ["a-folder", "it is a folder"],
        ["locked.db", "it is a folder"],
        ["other.db", "it is not a SQLite database"],
      ] as const) {
        // The clock stands still, so a retry would wait for ever.
        const error = yield* refusalOf(inside(name)).pipe(Effect.provide(TestClock.layer()), withinTurns("4 seconds"))
        assert.strictEqual(error._tag, "DatabaseFileUnusable")
        assert.include(error.message, inside(name))
        assert.include(error.message, reason)
      }
    }),
  )
})
