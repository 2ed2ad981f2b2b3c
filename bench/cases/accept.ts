/** Cost of accepting a task, which is stored before the answer. No workers run. */
import { postgresDatabase, postgresIsThere, sqliteFile } from "../../test/support/databases.ts"
import type { Case } from "../harness/Case.ts"
import { compare } from "../harness/compare.ts"
import { startLoad } from "../harness/Load.ts"
import { runGateway, runServer } from "../harness/servers.ts"

const LANES = 16

export const accept: Case = {
  name: "accept",
  title: `Accepting a task, ${LANES} at once, no workers`,
  unit: "a task",
  run: async (bench) => {
    if (!postgresIsThere) throw new Error("There is no Postgres to measure on: set TEST_DATABASE_URL.")
    const upstream = await bench.use(runServer("upstream"))
    const start = async (subject: string) => {
      const database = await bench.use(subject === "SQLite" ? sqliteFile : postgresDatabase({}))
      const server = await bench.use(runGateway(database, upstream, { JOB_WORKERS: "0" }))
      return { subject, pid: server.pid, load: await bench.use(startLoad("accept", server.jobs)) }
    }
    const { measure, measures } = await compare(bench, LANES, [await start("SQLite"), await start("Postgres")])
    return {
      measures,
      figures: [
        { what: "CPU to accept a task, SQLite", unit: "ms", value: measure("SQLite").cpu, atMost: 1 },
        { what: "CPU to accept a task, Postgres", unit: "ms", value: measure("Postgres").cpu, atMost: 1 },
      ],
    }
  },
}
