/** Whether memory stays where it is, however many exchanges and streams there were. */
import type { Case, Figure } from "../harness/Case.ts"
import { startLoad } from "../harness/Load.ts"
import { ask, preload } from "../harness/probe.ts"
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
    const level = async (what: string, stream: boolean, all: number): Promise<ReadonlyArray<Figure>> => {
      const sealgate = await bench.use(runSealgate(upstream, preload))
      const body = { model: "m", stream, messages: [{ role: "user", content: "Tell me of seals." }] }
      const payload = { api: "chat.completions", body, ...(stream ? { pace: 0 } : {}) }
      const ending = stream ? '"}\n\n' : '"]}'
      const options = { url: sealgate.url, payload, ending, perSecond: 1200 } satisfies SealedLoad
      const load = await bench.use(startLoad("sealed", options))
      const run = async (): Promise<number> => {
        await load.prepare({ seconds: ROUND, lanes: LANES })
        return (await load.run({ seconds: ROUND, lanes: LANES })).units
      }
      const serve = async (units: number): Promise<number> => {
        let served = 0
        while (served < units) served += await run()
        return served
      }
      const before = await serve(all / 10)
      const first = await ask(sealgate)
      const since = await serve(Math.max(1, all - before))
      const last = await ask(sealgate)
      load.stop()
      const bytes = ((last.held - first.held) * 1024 * 1024) / since
      const grown = last.resident / first.resident
      return [
        {
          what: `resident after ${before + since} ${what}, to that after ${before}`,
          unit: "×",
          value: grown,
          atMost: 1.1,
        },
        { what: `resident after ${before + since} ${what}`, unit: "MiB", value: last.resident },
        { what: `kept of one of the ${what} meanwhile`, unit: "B", value: bytes },
      ]
    }
    return {
      figures: [
        ...(await level("exchanges", false, bench.count(100_000, 100))),
        ...(await level("streams", true, bench.count(10_000, 100))),
      ],
    }
  },
}
