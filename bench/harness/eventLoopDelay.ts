/** How long the event loop of a process was blocked: `preload` goes into its environment, `read` asks it with a signal. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { setTimeout as sleep } from "node:timers/promises"
import type { Running } from "../../test/support/processes.ts"

const RESOLUTION_MS = 5
const FILE = "event-loop-delay"
const VARIABLE = "BENCH_EVENT_LOOP_DELAY"

export const preload = { NODE_OPTIONS: `--import=${import.meta.url}`, [VARIABLE]: "1" }

/** Milliseconds, at the 99.9th percentile since the last time that it was read. */
export const read = async ({ folder, kill }: Pick<Running, "folder" | "kill">): Promise<number> => {
  const file = join(folder, FILE)
  rmSync(file, { force: true })
  kill("SIGUSR2")
  while (!existsSync(file)) await sleep(10)
  await sleep(10)
  return Number(readFileSync(file, "utf8"))
}

if (process.env[VARIABLE] === "1") {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  histogram.enable()
  process.on("SIGUSR2", () => {
    writeFileSync(FILE, String(Math.max(0, histogram.percentile(99.9) / 1e6 - RESOLUTION_MS)))
    histogram.reset()
  })
}
