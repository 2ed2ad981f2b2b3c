/** What a process knows of itself: `preload` goes into its environment, `ask` asks it with a signal. */
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
  /** How long its event loop was blocked, in milliseconds, at the 99.9th percentile since it was asked last. */
  readonly blocked: number
  /** MiB that it holds, in the heap and outside of it, once its garbage was collected. */
  readonly held: number
  /** Resident memory after that, in MiB. */
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
  // The flag makes this function for contexts that are new.
  const collect = runInNewContext("gc") as () => void
  process.on("SIGUSR2", async () => {
    const blocked = Math.max(0, histogram.percentile(99.9) / 1e6 - RESOLUTION_MS)
    // What a collection finalizes is freed after it, and more with it the next time.
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
