/**
 * Reads metrics that only the process itself knows: put `preload` into its environment, and `ask` queries it by signal.
 * They cost CPU time, so compare a probed process only with probed ones.
 */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { setTimeout as sleep } from "node:timers/promises"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import type { Running } from "../../test/support/processes.ts"

const RESOLUTION_MS = 5
const MIB = 1024 * 1024
const FILE = "probe"
const VARIABLE = "BENCH_PROBE"

export const preload = { NODE_OPTIONS: `--import=${import.meta.url}`, [VARIABLE]: "1" }

export interface Probed {
  /** 99.9th percentile of event loop delay since the last query, in milliseconds. */
  readonly blocked: number
  /** Heap and external memory after a collection, in MiB. */
  readonly held: number
  /** Resident memory after the collection, in MiB. */
  readonly resident: number
}

export const ask = async ({ folder, kill }: Pick<Running, "folder" | "kill">): Promise<Probed> => {
  const file = join(folder, FILE)
  rmSync(file, { force: true })
  kill("SIGUSR2")
  while (!existsSync(file)) await sleep(10)
  return JSON.parse(readFileSync(file, "utf8"))
}

if (process.env[VARIABLE] === "1") {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  histogram.enable()
  setFlagsFromString("--expose-gc")
  // The flag only exposes `gc` in new contexts.
  const collect = runInNewContext("gc") as () => void
  process.on("SIGUSR2", async () => {
    const blocked = Math.max(0, histogram.percentile(99.9) / 1e6 - RESOLUTION_MS)
    // Finalizers run after a collection, so memory they release is only freed by the next one.
    for (let time = 0; time < 3; time++) {
      collect()
      await sleep(50)
    }
    const { external, heapUsed, rss } = process.memoryUsage()
    const probed: Probed = { blocked, held: (heapUsed + external) / MIB, resident: rss / MIB }
    writeFileSync(`${FILE}.new`, JSON.stringify(probed))
    renameSync(`${FILE}.new`, FILE)
    histogram.reset()
  })
}
