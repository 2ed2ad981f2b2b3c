/** The short form of the crash test; `node test/integration/crash/main.ts --kills 100` is the long one. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { postgresIsThere, postgresSchema, sqliteFile } from "../../support/databases.ts"
import { runCrashTest } from "./crashTest.ts"

const KILLS = 5
const SEED = 20

const survives = Effect.fnUntraced(function* (
  database: Effect.Effect<string, never, Scope.Scope>,
  { processes, withTools }: { readonly processes: number; readonly withTools: number },
) {
  const path = yield* database
  const report = yield* Effect.promise(() =>
    runCrashTest({
      database: path,
      kills: KILLS,
      processes,
      load: 12,
      withTools,
      leaseSeconds: 2,
      seed: SEED,
      log: () => undefined,
    }),
  )
  assert.deepStrictEqual(report.wrong, [])
  assert.deepStrictEqual(report.violations, [])
  assert.deepStrictEqual(report.faults, [])
  assert.strictEqual(report.completed, report.acknowledged)
  assert.isAtLeast(report.acknowledged, 12)
  assert.isAtLeast(report.tools.jobs, withTools)
  assert.isAtLeast(report.takeovers, 1, "no kill hit a call in flight, so nothing was tested")
}, Effect.scoped)

describe("jobs of randomly killed gateways", () => {
  it.live("are neither lost nor repeated on SQLite", () => survives(sqliteFile, { processes: 1, withTools: 0 }))

  it.live.skipIf(!postgresIsThere)("are neither lost nor repeated on a Postgres that two processes share", () =>
    survives(postgresSchema, { processes: 2, withTools: 2 }),
  )
})
