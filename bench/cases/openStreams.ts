/** Many open paced streams, each from a provider at 60 tokens a second. */
import type { Case } from "../harness/Case.ts"
import { compare } from "../harness/compare.ts"
import { startLoad } from "../harness/Load.ts"
import { memoryOf } from "../harness/processTimes.ts"
import { runSealgate, runServer } from "../harness/servers.ts"
import type { FramesLoad } from "../loads/frames.ts"

const STREAMS = [100, 250, 500]
const PACE_MS = 100
/** Three tokens per write, because 60,000 writes a second would keep the cores busy on their own. */
const UPSTREAM = { WORDS: "1000000", WORDS_PER_SECOND: "60", WRITES_PER_SECOND: "20" }

export const openStreams: Case = {
  name: "open-streams",
  title: `Open streams, a frame each ${PACE_MS} ms, upstream at 60 tokens/s`,
  unit: "a frame",
  run: async (bench) => {
    const measures = []
    const figures = []
    for (const streams of STREAMS) {
      const upstream = await bench.use(runServer("upstream", UPSTREAM))
      const { pid, url } = await bench.use(runSealgate(upstream, { MAX_ANSWER_MEMORY: "1024MiB" }))
      const body = { model: "m", stream: true, messages: [{ role: "user", content: "Tell me of seals." }] }
      const payload = { pace: PACE_MS, api: "chat.completions", body }
      const empty = memoryOf(pid)
      const options = { url, payload, streams, pace: PACE_MS } satisfies FramesLoad
      const load = await bench.use(startLoad("frames", options))
      const subject = `${streams} streams`
      const { measure } = await compare({ ...bench, rounds: 1 }, streams, [{ subject, pid, load }])
      const measured = measure(subject)
      measures.push(measured)
      figures.push(
        { what: `${subject}: frames late at p99`, unit: "ms", value: measured.p99, atMost: 50 },
        { what: `${subject}: of a core`, unit: "%", value: (measured.cpu * measured.perSecond) / 10, atMost: 100 },
        { what: `${subject}: memory of one`, unit: "kB", value: ((memoryOf(pid) - empty) * 1024) / streams },
      )
      load.stop()
    }
    return { measures, figures }
  },
}
