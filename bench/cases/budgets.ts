/** Cost of reserving and settling a call in two budgets. */
import { join } from "node:path"
import { postgresIsThere, postgresSchema } from "../../test/support/databases.ts"
import { temporaryFolder } from "../../test/support/proxy.ts"
import type { Case } from "../harness/Case.ts"
import { compare } from "../harness/compare.ts"
import { startLoad } from "../harness/Load.ts"

const LANES = 64
const TARGET_MS = 0.15

export const budgets: Case = {
  name: "budgets",
  title: `Reserving and settling calls in two budgets, ${LANES} at once`,
  unit: "a call",
  run: async (bench) => {
    if (!postgresIsThere) throw new Error("There is no Postgres to measure on: set TEST_DATABASE_URL.")
    const folder = await bench.use(temporaryFolder)
    const start = async (subject: string, database: string) => {
      const load = await bench.use(startLoad("budgets", { database }))
      return { subject, load, pid: load.pid }
    }
    const { measure, measures } = await compare(bench, LANES, [
      await start("on Postgres", await bench.use(postgresSchema)),
      await start("on SQLite", join(folder, "budgets.db")),
    ])
    return {
      measures,
      figures: measures.map(({ subject }) => ({
        what: `of the gateway's CPU for a call, ${subject}`,
        unit: "ms",
        value: measure(subject).cpu,
        atMost: TARGET_MS,
      })),
    }
  },
}
