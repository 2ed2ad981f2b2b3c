/** Whether memory stays where it is, however many exchanges and streams there were. */
import type { Case, Figure } from "../harness/Case.ts"
import { median } from "../harness/compare.ts"
import { startLoad } from "../harness/Load.ts"
import { ask, preload } from "../harness/probe.ts"
import { memoryOf } from "../harness/processTimes.ts"
import { runSealgate, runServer } from "../harness/servers.ts"
import type { SealedLoad } from "../loads/sealed.ts"

const LANES = 16
/** Seconds of one round, for which requests are sealed before it. */
const ROUND = 3
/**
 * What keeps requests from being served twice is kept for so long and two minutes more. With the default it would still be
 * growing at the end, by design; so it is as much as it becomes before the end, and let go of as fast as it grows.
 */
const SESSION_TTL = "20s"

export const memory: Case = {
  name: "memory",
  title: "Memory over time",
  unit: "an exchange",
  run: async (bench) => {
    const upstream = await bench.use(runServer("upstream", { WORDS: "20" }))
    const level = async (what: string, stream: boolean, tenth: number): Promise<ReadonlyArray<Figure>> => {
      const sealgate = await bench.use(runSealgate(upstream, { ...preload, SESSION_TTL }))
      const body = { model: "m", stream, messages: [{ role: "user", content: "Tell me of seals." }] }
      const payload = { api: "chat.completions", body, ...(stream ? { pace: 0 } : {}) }
      const ending = stream ? '"}\n\n' : '"]}'
      const options = { url: sealgate.url, payload, ending, perSecond: 1800 } satisfies SealedLoad
      const load = await bench.use(startLoad("sealed", options))
      const run = async (): Promise<number> => {
        await load.prepare({ seconds: ROUND, lanes: LANES })
        return (await load.run({ seconds: ROUND, lanes: LANES })).units
      }
      const all = tenth * 10
      /** What is resident after each round, while so many are served. */
      const serve = async (units: number): Promise<ReadonlyArray<number>> => {
        const resident = []
        for (let served = 0; served < units;) {
          served += await run()
          resident.push(memoryOf(sealgate.pid))
        }
        return resident
      }
      // A process takes a tenth of them to compile what it needs and to become as large as it will be.
      await serve(tenth)
      const before = await ask(sealgate)
      const second = median(await serve(tenth))
      await serve(7 * tenth)
      const last = median(await serve(tenth))
      const after = await ask(sealgate)
      load.stop()
      const bytes = ((after.held - before.held) * 1024 * 1024) / (9 * tenth)
      return [
        {
          what: `resident during the last tenth of ${all} ${what}, to the second`,
          unit: "×",
          value: last / second,
          atMost: 1.1,
        },
        { what: `resident during the last tenth of ${all} ${what}`, unit: "MiB", value: last },
        { what: `kept of one of the ${what} meanwhile`, unit: "B", value: bytes },
      ]
    }
    return {
      figures: [
        ...(await level("exchanges", false, bench.count(10_000, 10))),
        ...(await level("streams", true, bench.count(1000, 10))),
      ],
    }
  },
}
