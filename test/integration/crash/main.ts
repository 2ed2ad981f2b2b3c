/** `node test/integration/crash/main.ts --kills 100 --database sqlite|postgres [--processes 2] [--seed 1]` */
import { parseArgs } from "node:util"
import { Effect } from "effect"
import { postgresSchema, sqliteFile } from "../../support/databases.ts"
import { runCrashTest } from "./crashTest.ts"

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "100" },
    database: { type: "string", default: "sqlite" },
    processes: { type: "string" },
    seed: { type: "string", default: `${Date.now() % 100_000}` },
  },
})
const onPostgres = values.database === "postgres"
/** SQLite allows only one process. */
const processes = onPostgres ? Number(values.processes ?? "2") : 1
/** On Postgres, jobs of dead workers wait for their leases, so live workers need more jobs. */
const load = onPostgres ? 60 : 12
/** Followers resume at another gateway, and SQLite has one. */
const withTools = onPostgres ? 6 : 0
/** Stops a run that hangs, even on a busy machine. */
const SECONDS_PER_KILL = 10
const SECONDS_TO_DRAIN = 180

const program = Effect.gen(function* () {
  const database = yield* onPostgres ? postgresSchema : sqliteFile
  console.log(
    `crash test: ${values.kills} kills of ${processes} process(es) on ${values.database}, seed ${values.seed}`,
  )
  return yield* Effect.promise(() =>
    runCrashTest({
      database,
      kills: Number(values.kills),
      processes,
      load,
      withTools,
      leaseSeconds: 15,
      seed: Number(values.seed),
      log: console.log,
    }),
  )
})

const report = await Effect.runPromise(
  program.pipe(Effect.scoped, Effect.timeout(`${Number(values.kills) * SECONDS_PER_KILL + SECONDS_TO_DRAIN} seconds`)),
)
for (const problem of [
  ...report.violations.map((violation) => JSON.stringify(violation)),
  ...report.wrong,
  ...report.faults,
]) {
  console.error(`✗ ${problem}`)
}
const good =
  report.violations.length + report.wrong.length + report.faults.length === 0 &&
  report.completed === report.acknowledged &&
  report.tools.unexplained === 0 &&
  report.slowestTakeover <= 20_000
console.log(
  `${good ? "✓" : "✗"} ${report.kills} kills on ${values.database}: ${report.acknowledged} jobs acknowledged, ` +
    `${report.completed} completed once, ${report.calls} calls, ${report.repeats} of them in flight at a kill and repeated, ` +
    `0 finished calls repeated expected and ${report.violations.length} seen, ${report.takeovers} takeovers, ` +
    `slowest ${(report.slowestTakeover / 1000).toFixed(1)} s, ${report.seconds.toFixed(0)} s in all` +
    (withTools === 0
      ? ""
      : `; ${report.tools.jobs} jobs with 20 tool calls each: ${report.tools.calls} calls of model and tools, ` +
        `${report.tools.repeats} tool calls repeated under their key, ${report.tools.unexplained} of them without a kill, ` +
        `followed over ${report.tools.connections} connections`),
)
process.exitCode = good ? 0 : 1
