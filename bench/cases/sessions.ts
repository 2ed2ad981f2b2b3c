/** Cost of beginning sessions, and memory of live ones. */
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
    // No session expires during the measurement.
    const env = { ...preload, SESSION_MAX_LIVE: "1000000", SESSION_TTL: "30min" }
    const sealgate = await bench.use(runSealgate(upstream, env))
    const load = await bench.use(startLoad("init", { url: sealgate.url }))
    const { measures } = await compare(bench, LANES, [{ subject: "sealgate", pid: sealgate.pid, load }])
    // After a warm-up, so that one-time costs do not count. Not resident memory, which includes garbage.
    const before = await ask(sealgate)
    const { units } = await load.run({ seconds: bench.count(6, 1), lanes: LANES })
    const kilobytes = (((await ask(sealgate)).held - before.held) * 1024 * 1024) / 1000 / units
    return { measures, figures: [{ what: "memory of a live session", unit: "kB", value: kilobytes, atMost: 6 }] }
  },
}
