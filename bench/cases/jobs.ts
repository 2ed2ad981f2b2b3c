/** Durable jobs of three calls over HTTP, beside DBOS with the same calls on the same Postgres. */
import { postgresDatabase, postgresIsThere, sqliteFile } from "../../test/support/databases.ts"
import type { Case } from "../harness/Case.ts"
import { compare, warm } from "../harness/compare.ts"
import { ask, preload } from "../harness/probe.ts"
import { startLoad } from "../harness/Load.ts"
import { callsOf, runDbos, runGateway, runServer, VERDICT } from "../harness/servers.ts"

const LANES = 32
const CONNECTIONS = 10
const CALLS_PER_JOB = 3
/** Jobs before measuring: a gateway still compiles until then. DBOS has less code and needs fewer. */
const WARM = 1500

export const jobs: Case = {
  name: "jobs",
  title: `Jobs of three steps, ${LANES} at once, accepted and waited for`,
  unit: "a job",
  run: async (bench) => {
    if (!postgresIsThere) throw new Error("There is no Postgres to measure on: set TEST_DATABASE_URL.")
    const start = async (subject: string) => {
      const upstream = await bench.use(runServer("upstream", { ANSWER: VERDICT }))
      const database = await bench.use(subject === "SQLite" ? sqliteFile : postgresDatabase({}))
      const workers = { JOB_WORKERS: `${LANES}`, JOB_TENANT_PERCENT: "100", DATABASE_CONNECTIONS: `${CONNECTIONS}` }
      const env = { ...preload, ...workers }
      const server = await bench.use(
        subject === "DBOS" ? runDbos(database, upstream, CONNECTIONS) : runGateway(database, upstream, env),
      )
      return { subject, upstream, server, pid: server.pid, load: await bench.use(startLoad("jobs", server.jobs)) }
    }
    const subjects = [await start("SQLite"), await start("Postgres"), await start("DBOS")] as const
    const [sqlite, postgres] = subjects

    // Checks that both make the same number of calls.
    for (const { load, subject, upstream } of subjects) {
      const before = await callsOf(upstream)
      const { units } = await load.run({ seconds: 0.2, lanes: 4 })
      const calls = ((await callsOf(upstream)) - before) / units
      if (calls !== CALLS_PER_JOB)
        throw new Error(`${subject} made ${calls} calls for a job instead of ${CALLS_PER_JOB}`)
    }
    await warm(bench, LANES, subjects, bench.count(WARM, 10))
    // Resets the delays of the warm-up.
    await Promise.all([ask(sqlite.server), ask(postgres.server)])
    const { measures, ratio } = await compare(bench, LANES, subjects)
    const blocked = { sqlite: (await ask(sqlite.server)).blocked, postgres: (await ask(postgres.server)).blocked }
    return {
      measures,
      figures: [
        { what: "rate, Postgres to DBOS", unit: "×", value: ratio("Postgres", "DBOS", "perSecond"), atLeast: 2 },
        { what: "rate, SQLite to DBOS", unit: "×", value: ratio("SQLite", "DBOS", "perSecond"), atLeast: 4 },
        { what: "CPU, Postgres to DBOS", unit: "×", value: ratio("Postgres", "DBOS", "cpu"), atMost: 0.5 },
        { what: "CPU, SQLite to DBOS", unit: "×", value: ratio("SQLite", "DBOS", "cpu"), atMost: 0.5 },
        { what: "event loop blocked at p99.9, SQLite", unit: "ms", value: blocked.sqlite, atMost: 20 },
        { what: "event loop blocked at p99.9, Postgres", unit: "ms", value: blocked.postgres, atMost: 20 },
      ],
    }
  },
}
