/** Shows a job's progress to people, on standard error. */
import { performance } from "node:perf_hooks"
import type { BegunCall, Job, JobDelta, JobEvent, Step } from "../../client/gateway/GatewayJobs.ts"
import { stepLabel } from "../../domain/jobs/modes.ts"
import { DEFAULT_WIDTH } from "../help/layout.ts"
import { printable, printableLine } from "../printable.ts"
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
  const nothing = () => undefined
  if (!process.stderr.isTTY) return { show: nothing, hide: nothing, pause: nothing, stop: nothing }
  let isPaused = false
  const hide = () => {
    if (!isPaused) process.stderr.write(CLEAR_LINE)
  }
  const draw = () => {
    if (isPaused) return
    // A terminal without a known size reports 0 columns.
    const width = process.stderr.columns || DEFAULT_WIDTH
    process.stderr.write(CLEAR_LINE + dimOnStderr(printableLine(text()).slice(0, width - 1)))
  }
  const timer = setInterval(draw, SECOND)
  return {
    show: () => {
      isPaused = false
      draw()
    },
    hide,
    /** Hides the line until it is shown again. */
    pause: () => {
      hide()
      isPaused = true
    },
    stop: () => {
      clearInterval(timer)
      hide()
    },
  }
}

/** Writes a model's text to standard output while it comes. */
class LiveText {
  /** The text of the last step. */
  text = ""
  private name = ""

  add({ at, name, text }: JobDelta): void {
    if (at === 0 && name === this.name && this.text !== "") {
      this.end()
      tell("The model was asked again:")
    }
    this.text = at === 0 ? text : this.text + text
    this.name = name
    process.stdout.write(printable(text))
  }

  /** Ends the line, if there is one. */
  end(): void {
    if (this.name === "") return
    this.name = ""
    process.stdout.write("\n")
  }
}

/** How a step ended, and which model ran it. A failed step may have called none. */
const endOf = ({ model, problem, status, tool }: Step): string => {
  const who = model ?? tool?.name
  const by = who === undefined ? "" : ` by ${who}`
  if (status !== "failed") return by
  return `${by} failed${problem === undefined ? "" : ` (${problem.code})`}`
}

/** The result of `showProgress`. */
interface Shown {
  /** The ended job; `undefined` if the events stopped earlier. */
  readonly job: Job | undefined
  /** The last text that was written to standard output. */
  readonly text: string
}

/**
 * Shows steps as they begin and finish, with model and elapsed time. On a terminal, running steps share one line that
 * disappears at the end. In the direct mode, the model's text is written to standard output while it comes, if wanted.
 */
export const showProgress = async (
  mode: Job["mode"],
  events: AsyncIterable<JobEvent>,
  writesText: boolean,
): Promise<Shown> => {
  const start = performance.now()
  const underWay = new Map<string, string>()
  const status = statusLine(
    () => `… ${underWay.size === 0 ? "working" : [...underWay.values()].join("; ")} · ${elapsed(start)}`,
  )
  const live = new LiveText()
  // In other modes several models write at the same time, and most texts are drafts.
  const writes = writesText && mode === "direct"
  const begin = (step: BegunCall, who: string) => {
    const label = `${stepLabel(mode, step)}: ${who} is working`
    underWay.set(step.name, label)
    if (!process.stderr.isTTY) tell(`${label} · ${elapsed(start)}`)
    status.show()
  }
  try {
    for await (const event of events) {
      if (event.type === "ended") return { job: event.job, text: live.text }
      if (event.type === "input_required") {
        status.hide()
        tell(`The agent asks: ${event.job.question?.question ?? ""}`)
        tell(`To answer: sealgate jobs input ${event.job.id}`)
      }
      if (event.type === "begun") begin(event.step, event.step.model)
      if (event.type === "tool_call") begin(event.call, event.call.tool)
      if (event.type === "delta" && writes) {
        status.pause()
        live.add(event.delta)
      }
      if (event.type === "step") {
        underWay.delete(event.step.name)
        live.end()
        status.hide()
        tell(`${stepLabel(mode, event.step)}${endOf(event.step)} · ${elapsed(start)}`)
        status.show()
      }
    }
    return { job: undefined, text: live.text }
  } finally {
    live.end()
    status.stop()
  }
}

/** Whether a model's text is written while it comes: to a person, who did not ask for JSON. */
export const showsText = (json: boolean): boolean => !json && process.stdout.isTTY

/** Printed when the user stops watching. */
export const goesOn = (id: string): string =>
  `The job continues. To follow it: sealgate jobs follow ${id}\nTo cancel it: sealgate jobs cancel ${id}`
