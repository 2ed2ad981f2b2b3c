/** Checks that memory stays flat over many exchanges and streams. */
import type { Case, Figure } from "../harness/Case.ts"
import { median } from "../harness/compare.ts"
import { startLoad } from "../harness/Load.ts"
import { ask, preload } from "../harness/probe.ts"
import { memoryOf } from "../harness/processTimes.ts"
import { runSealgate, runServer } from "../harness/servers.ts"
import type { SealedLoad } from "../loads/sealed.ts"

const LANES = 16
/** Length of one round in seconds; its requests are sealed before it. */
const ROUND = 3
/**
 * Short, because replay records live for the session time plus two minutes: with the default they would still grow when
 * the case ends.
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
      /** Serves this many in rounds and returns resident memory after each. */
      const serve = async (units: number): Promise<ReadonlyArray<number>> => {
        const resident = []
        for (let served = 0; served < units;) {
          served += await run()
          resident.push(memoryOf(sealgate.pid))
        }
        return resident
      }
      // During the first tenth a process compiles and grows to its final size.
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
