/** Cost of a sealed completion by prompt size. */
import type { Case } from "../harness/Case.ts"
import { compare } from "../harness/compare.ts"
import { startLoad } from "../harness/Load.ts"
import { runSealgate, runServer } from "../harness/servers.ts"
import type { SealedLoad } from "../loads/sealed.ts"

const LANES = 4
const KB = 1000
/** Prompt sizes in bytes, each with the most requests that one second can need. */
const SIZES = [
  ["1 kB", KB, 1500],
  ["64 kB", 64 * KB, 1000],
  ["700 kB", 700 * KB, 300],
  ["1.4 MB", 1400 * KB, 160],
] as const

export const size: Case = {
  name: "size",
  title: `Completions with prompts of different size, ${LANES} connections`,
  unit: "a completion",
  run: async (bench) => {
    const upstream = await bench.use(runServer("upstream"))
    const { pid, url } = await bench.use(runSealgate(upstream, { MAX_REQUEST_BYTES: "4MiB" }))
    const start = async ([subject, bytes, perSecond]: (typeof SIZES)[number]) => {
      const content = "Seals sleep. ".repeat(bytes / 13)
      const payload = { api: "chat.completions", body: { model: "m", messages: [{ role: "user", content }] } }
      const sealed = { url, payload, ending: '"]}', perSecond } satisfies SealedLoad
      return { subject, pid, load: await bench.use(startLoad("sealed", sealed)) }
    }
    const subjects = []
    for (const one of SIZES) subjects.push(await start(one))
    const { measure, measures, ratio } = await compare({ ...bench, rounds: 1 }, LANES, subjects)
    return {
      measures,
      figures: [
        { what: "CPU of a completion with 700 kB", unit: "ms", value: measure("700 kB").cpu, atMost: 6 },
        { what: "CPU, 1.4 MB to 700 kB", unit: "×", value: ratio("1.4 MB", "700 kB", "cpu"), atMost: 2.2 },
      ],
    }
  },
}
