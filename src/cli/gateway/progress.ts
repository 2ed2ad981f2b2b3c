/** Shows a job's progress to people, on standard error. */
import { performance } from "node:perf_hooks"
import type { Job, JobEvent } from "../../client/gateway/GatewayJobs.ts"
import { stepLabel } from "../../domain/jobs/modes.ts"
import { DEFAULT_WIDTH } from "../help/layout.ts"
import { printableLine } from "../printable.ts"
import { dimOnStderr } from "../terminal.ts"

export const tell = (text: string): void => {
  process.stderr.write(`${dimOnStderr(printableLine(text))}\n`)
}

const SECOND = 1000
const MINUTE = 60

/** Returns the time since `start`, such as `7s` or `2min 5s`. */
const elapsed = (start: number): string => {
  const seconds = Math.round((performance.now() - start) / SECOND)
  return seconds < MINUTE ? `${seconds}s` : `${Math.floor(seconds / MINUTE)}min ${seconds % MINUTE}s`
}

const CLEAR_LINE = "\r\u001b[K"

/** Rewrites one line of the terminal with `text` every second. Does nothing unless standard error is a terminal. */
const statusLine = (text: () => string) => {
  if (!process.stderr.isTTY) return { show: () => undefined, hide: () => undefined, stop: () => undefined }
  const hide = () => void process.stderr.write(CLEAR_LINE)
  const show = () => {
    // A terminal without a known size reports 0 columns.
    const width = process.stderr.columns || DEFAULT_WIDTH
    process.stderr.write(CLEAR_LINE + dimOnStderr(printableLine(text()).slice(0, width - 1)))
  }
  const timer = setInterval(show, SECOND)
  return {
    show,
    hide,
    stop: () => {
      clearInterval(timer)
      hide()
    },
  }
}

const toolOf = (event: Extract<JobEvent, { readonly type: "begun" | "step" }>): string | undefined =>
  event.type === "step" ? event.step.tool?.name : undefined

/**
 * Shows steps as they begin and finish, with model and elapsed time. Returns the ended job, or `undefined` if the events
 * stopped earlier. On a terminal, running steps share one line that disappears at the end.
 */
export const showProgress = async (mode: Job["mode"], events: AsyncIterable<JobEvent>): Promise<Job | undefined> => {
  const start = performance.now()
  const underWay = new Map<string, string>()
  const status = statusLine(
    () => `… ${underWay.size === 0 ? "working" : [...underWay.values()].join("; ")} · ${elapsed(start)}`,
  )
  try {
    for await (const event of events) {
      if (event.type === "ended") return event.job
      if (event.type === "input_required") {
        status.hide()
        tell(`The agent asks: ${event.job.question?.question ?? ""}`)
        tell(`To answer: sealgate jobs input ${event.job.id}`)
        continue
      }
      const label = stepLabel(mode, event.step)
      const who = event.step.model ?? toolOf(event) ?? "nobody"
      if (event.type === "begun") {
        underWay.set(event.step.name, `${label}: ${who} at work`)
        if (!process.stderr.isTTY) tell(`${label}: ${who} at work · ${elapsed(start)}`)
      } else {
        underWay.delete(event.step.name)
        status.hide()
        const end = event.step.status === "failed" ? " failed" : ""
        tell(`${label} by ${who}${end} · ${elapsed(start)}`)
      }
      status.show()
    }
    return undefined
  } finally {
    status.stop()
  }
}

/** Printed when the user stops watching. */
export const goesOn = (id: string): string =>
  `The job goes on. To follow it: sealgate jobs follow ${id}\nTo cancel it: sealgate jobs cancel ${id}`
