/** Back-ups as docs/how-to/maintenance.md says to make them, taken while jobs run, and what a gateway on one of them does. */
import { execFileSync, spawnSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { readFileSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Latch, Redacted } from "effect"
import { type DatabaseLayer, layerPostgres, layerSqlite } from "../../../src/layers/database/Database.ts"
import { postgresIsThere, postgresSchema, sqliteFile } from "../../support/databases.ts"
import { temporaryFolder } from "../../support/proxy.ts"
import { answer, ended, enqueueOne, gateway, type Program, start, stepsOf, text, use } from "../../support/jobs.ts"

const page = readFileSync("docs/how-to/maintenance.md", "utf8")

/** Runs commands of the runbook, as they stand there, in `folder`. */
const follow = (folder: string, commands: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}): void => {
  for (const command of commands) assert.include(page, command)
  execFileSync("sh", ["-ec", commands.join("\n")], { cwd: folder, env: { ...process.env, ...env }, stdio: "pipe" })
}
const has = (command: string) => spawnSync(command, ["--version"]).status === 0

/** A whole database of its own, because a dump is of one. */
const postgresDatabase = Effect.gen(function* () {
  const url = new URL(yield* postgresSchema)
  url.search = ""
  const server = url.href
  const name = `sealgate_${randomUUID().replaceAll("-", "")}`
  const psql = (command: string) => Effect.sync(() => execFileSync("psql", ["-q", server, "-c", command]))
  yield* Effect.acquireRelease(psql(`CREATE DATABASE ${name}`), () => psql(`DROP DATABASE ${name} WITH (FORCE)`))
  url.pathname = `/${name}`
  return url.href
})

/** One step that finishes, and one that waits for the gate. `ran` has every step that really ran. */
const twoSteps = Effect.gen(function* () {
  const waiting = yield* Latch.make()
  const gate = yield* Latch.make()
  const ran: Array<string> = []
  const step = (name: string) => Effect.sync(() => (ran.push(name), name))
  const program: Program = (context) =>
    Effect.gen(function* () {
      yield* text(context, "before", step("before"))
      yield* waiting.open
      yield* gate.await
      return answer(yield* text(context, "after", step("after")))
    })
  return { program, waiting, gate, ran }
})

const resumes = Effect.fnUntraced(function* (original: DatabaseLayer, backUp: () => DatabaseLayer) {
  const first = yield* twoSteps
  const running = yield* start(gateway(original, first.program))
  const { job, tenant } = yield* use(running.context, enqueueOne())
  yield* first.waiting.await
  const copy = backUp()

  // Later work of the original does not concern the copy.
  yield* first.gate.open
  assert.strictEqual((yield* use(running.context, ended(tenant, job))).status, "completed")

  const second = yield* twoSteps
  yield* second.gate.open
  const restored = yield* start(gateway(copy, second.program, { lease: Duration.seconds(1) }))
  const done = yield* use(restored.context, ended(tenant, job))
  assert.deepInclude(done, { id: job.id, status: "completed" })
  assert.deepStrictEqual(stepsOf(done), ["before completed", "after completed"])
  assert.deepStrictEqual(second.ran, ["after"])
})

describe("a back-up taken while jobs run", () => {
  it.live.skipIf(!has("sqlite3"))("restores to a gateway that continues the jobs", () =>
    Effect.gen(function* () {
      const file = yield* sqliteFile
      yield* resumes(layerSqlite({ filename: file }), () => {
        follow(dirname(file), ["umask 077", `sqlite3 gateway.db ".timeout 5000" "VACUUM INTO 'gateway.backup.db'"`])
        const copy = join(dirname(file), "gateway.backup.db")
        assert.strictEqual(statSync(copy).mode & 0o777, 0o600)
        return layerSqlite({ filename: copy })
      })
    }),
  )

  it.live.skipIf(!postgresIsThere || !has("pg_dump"))("restores to a gateway on Postgres that goes on with them", () =>
    Effect.gen(function* () {
      const source = yield* postgresDatabase
      const copy = yield* postgresDatabase
      const folder = yield* temporaryFolder
      const layerOf = (url: string) => layerPostgres({ url: Redacted.make(url), maxConnections: 5 })
      yield* resumes(layerOf(source), () => {
        follow(
          folder,
          [
            'pg_dump --format=custom --file=gateway.dump "$DATABASE_URL"',
            'pg_restore --single-transaction --no-owner --dbname="$NEW_DATABASE_URL" gateway.dump',
          ],
          { DATABASE_URL: source, NEW_DATABASE_URL: copy },
        )
        return layerOf(copy)
      })
    }),
  )
})
