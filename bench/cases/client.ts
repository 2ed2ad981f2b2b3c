/** Cost of a completion for the client. */
import type { Case } from "../harness/Case.ts"
import { COMPILED, compare, warm } from "../harness/compare.ts"
import { startLoad } from "../harness/Load.ts"
import { runSealgate, runServer } from "../harness/servers.ts"

const LANES = 8

export const client: Case = {
  name: "client",
  title: `SealedClient in Node, ${LANES} at once`,
  unit: "a completion",
  run: async (bench) => {
    const upstream = await bench.use(runServer("upstream"))
    const { kid, url } = await bench.use(runSealgate(upstream))
    const load = await bench.use(startLoad("client", { url, pin: kid }))
    const subjects = [{ subject: "SealedClient", pid: load.pid, load }]
    await warm(bench, LANES, subjects, bench.count(COMPILED, 10))
    const { measure, measures } = await compare(bench, LANES, subjects)
    return {
      measures,
      figures: [{ what: "CPU of the client", unit: "ms", value: measure("SealedClient").cpu, atMost: 0.8 }],
    }
  },
}
