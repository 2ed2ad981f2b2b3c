/** Whether memory stays where it is, however many exchanges and streams there were. */
import type { Case, Figure } from "../harness/Case.ts"
import { startLoad } from "../harness/Load.ts"
import { memoryOf } from "../harness/processTimes.ts"
import { runSealgate, runServer } from "../harness/servers.ts"
import type { SealedLoad } from "../loads/sealed.ts"

const LANES = 16
/** Seconds of one round, for which requests are sealed before it. */
const ROUND = 3

export const memory: Case = {
  name: "memory",
  title: "Memory over time",
  unit: "an exchange",
  run: async (bench) => {
    const upstream = await bench.use(runServer("upstream", { WORDS: "20" }))
    const level = async (what: string, stream: boolean, rounds: number): Promise<ReadonlyArray<Figure>> => {
      const { pid, url } = await bench.use(runSealgate(upstream))
      const body = { model: "m", stream, messages: [{ role: "user", content: "Tell me of seals." }] }
      const payload = { api: "chat.completions", body, ...(stream ? { pace: 0 } : {}) }
      const ending = stream ? '"}\n\n' : '"]}'
      const options = { url, payload, ending, perSecond: 2000 } satisfies SealedLoad
      const load = await bench.use(startLoad("sealed", options))
      let units = 0
      let first = 0
      for (let round = 0; round < rounds; round++) {
        await load.prepare({ seconds: ROUND, lanes: LANES })
        units += (await load.run({ seconds: ROUND, lanes: LANES })).units
        if (round === Math.ceil(rounds / 10) - 1) first = memoryOf(pid)
      }
      load.stop()
      const grown = memoryOf(pid) / first
      return [
        { what: `memory after ${units} ${what}, to that after a tenth of them`, unit: "×", value: grown, atMost: 1.1 },
        { what: `memory after ${units} ${what}`, unit: "MiB", value: memoryOf(pid) },
      ]
    }
    const rounds = bench.count(10, 2)
    return { figures: [...(await level("exchanges", false, rounds)), ...(await level("streams", true, rounds))] }
  },
}
