/** Contention of gateways on one Postgres: eight write job steps into one database, or each into a separate schema. */
import { postgresIsThere, postgresSchema } from "../../test/support/databases.ts"
import type { Case } from "../harness/Case.ts"
import { compare } from "../harness/compare.ts"
import { startLoad } from "../harness/Load.ts"

const WRITERS = 8
const LANES = 32

export const writers: Case = {
  name: "writers",
  title: `${WRITERS} gateways that write on one Postgres, ${LANES} steps at once`,
  unit: "a step",
  run: async (bench) => {
    if (!postgresIsThere) throw new Error("There is no Postgres to measure on: set TEST_DATABASE_URL.")
    const shared = await bench.use(postgresSchema)
    const own = []
    for (let writer = 0; writer < WRITERS; writer++) own.push(await bench.use(postgresSchema))
    const start = async (subject: string, urls: ReadonlyArray<string>) => {
      const load = await bench.use(startLoad("writers", { urls }))
      return { subject, load, pid: load.pid }
    }
    const { measures, ratio } = await compare(bench, LANES, [
      await start(
        "one database",
        own.map(() => shared),
      ),
      await start("a schema each", own),
    ])
    return {
      measures,
      figures: [
        {
          what: "rate in one database, to a schema each",
          unit: "×",
          value: ratio("one database", "a schema each", "perSecond"),
          atLeast: 0.9,
        },
      ],
    }
  },
}
