/** What sessions take: to begin, and of memory while they live. */
import type { Case } from "../harness/Case.ts"
import { compare } from "../harness/compare.ts"
import { startLoad } from "../harness/Load.ts"
import { ask, preload } from "../harness/probe.ts"
import { runSealgate, runServer } from "../harness/servers.ts"

const LANES = 8

export const sessions: Case = {
  name: "sessions",
  title: `Sessions begun, MLKEM768-X25519, ${LANES} connections`,
  unit: "a session",
  run: async (bench) => {
    const upstream = await bench.use(runServer("upstream"))
    // Only live sessions are counted: none is let go of meanwhile.
    const env = { ...preload, SESSION_MAX_LIVE: "1000000", SESSION_TTL: "30min" }
    const sealgate = await bench.use(runSealgate(upstream, env))
    const load = await bench.use(startLoad("init", { url: sealgate.url }))
    const { measures } = await compare(bench, LANES, [{ subject: "sealgate", pid: sealgate.pid, load }])
    // What is begun first pays for what is done once. What is resident holds garbage, too, however many sessions live.
    const before = await ask(sealgate)
    const { units } = await load.run({ seconds: bench.count(6, 1), lanes: LANES })
    const kilobytes = (((await ask(sealgate)).held - before.held) * 1024 * 1024) / 1000 / units
    return { measures, figures: [{ what: "memory of a live session", unit: "kB", value: kilobytes, atMost: 6 }] }
  },
}
