/** How a job goes on, as a person follows it on standard error, which no program reads. */
import { performance } from "node:perf_hooks"
import type { Job, JobEvent } from "../../client/GatewayJobs.ts"
import { stepLabel } from "../../domain/modes.ts"
import { printableLine } from "../printable.ts"
import { dimOnStderr } from "../terminal.ts"

export const tell = (text: string): void => {
  process.stderr.write(`${dimOnStderr(printableLine(text))}\n`)
}

const SECOND = 1000
const MINUTE = 60

/** `7s`, `2min 5s` since `start`. */
const elapsed = (start: number): string => {
  const seconds = Math.round((performance.now() - start) / SECOND)
  return seconds < MINUTE ? `${seconds}s` : `${Math.floor(seconds / MINUTE)}min ${seconds % MINUTE}s`
}

/** Writes over one line of the terminal while nothing happens; elsewhere nothing is shown in between. */
const waitingLine = (start: number) => {
  if (!process.stderr.isTTY) return { hide: () => undefined, stop: () => undefined }
  const hide = () => void process.stderr.write("\r\u001b[K")
  const timer = setInterval(
    () => process.stderr.write(`\r\u001b[K${dimOnStderr(`… working, ${elapsed(start)}`)}`),
    SECOND,
  )
  return {
    hide,
    stop: () => {
      clearInterval(timer)
      hide()
    },
  }
}

/** Shows steps with who did them and how long it has taken, up to the end, which it gives. */
export const showProgress = async (mode: Job["mode"], events: AsyncIterable<JobEvent>): Promise<Job | undefined> => {
  const start = performance.now()
  const waiting = waitingLine(start)
  try {
    for await (const event of events) {
      if (event.type === "ended") return event.job
      waiting.hide()
      tell(`${stepLabel(mode, event.step)} by ${event.step.model ?? "nobody"} · ${elapsed(start)}`)
    }
    return undefined
  } finally {
    waiting.stop()
  }
}

/** What a person who stops watching has to know. */
export const goesOn = (id: string): string =>
  `The job goes on. Follow it: sealgate jobs follow ${id}\nEnd it: sealgate jobs cancel ${id}`
