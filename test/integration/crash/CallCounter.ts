/**
 * The upstream of the crash test. It counts calls. A step is called only when its predecessors are on disk, so a later
 * second call of a predecessor repeats a finished call.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

/** The steps of the scripted program in order of dependency. */
const STAGES: ReadonlyArray<ReadonlyArray<string>> = [["before"], ["one", "two", "three"], ["after"]]
const stageOf = (step: string): number => STAGES.findIndex((stage) => stage.includes(step))

export interface Violation {
  readonly job: string
  readonly step: string
  readonly what: string
}

interface Progress {
  /** The furthest called stage; all earlier ones are finished. */
  stage: number
  ended: boolean
  /** The tokens given to each step. */
  readonly tokens: Map<string, Set<string>>
}

export class CallCounter {
  readonly violations: Array<Violation> = []
  calls = 0
  /** Repeated calls of a step. */
  repeats = 0
  /** For each job that lost its worker during a call: milliseconds from the last kill to its next call. */
  readonly takeovers: Array<number> = []
  private readonly orphans = new Set<string>()
  private lastKill = 0
  private readonly jobs = new Map<string, Progress>()
  private readonly inFlight = new Map<string, Map<string, number>>()
  /** Waiters for a number of further calls, by worker. */
  private readonly awaited = new Map<string, { left: number; readonly resolve: () => void }>()
  private readonly server = createServer((request, response) => {
    const query = new URL(request.url ?? "/", "http://localhost").searchParams
    const [job = "", step = "", worker = ""] = ["job", "step", "worker"].map((name) => query.get(name) ?? undefined)
    const token = this.called(job, step)
    const flights = this.inFlight.get(worker) ?? new Map<string, number>()
    this.inFlight.set(worker, flights.set(job, (flights.get(job) ?? 0) + 1))
    const awaited = this.awaited.get(worker)
    if (awaited !== undefined && --awaited.left <= 0) awaited.resolve()
    setTimeout(() => {
      flights.set(job, (flights.get(job) ?? 1) - 1)
      response.end(token)
    }, this.delay())
  })
  private readonly delay: () => number

  /** `delay` returns the milliseconds of each call. */
  constructor(delay: () => number) {
    this.delay = delay
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve))
    // `address()` is a string only for pipes.
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  close(): void {
    this.server.close()
    this.server.closeAllConnections()
  }

  /** Resolves when this many more calls of the worker have arrived, the last of them in flight. */
  async callsOf(worker: string, count: number): Promise<void> {
    await new Promise<void>((resolve) => this.awaited.set(worker, { left: count, resolve }))
    this.awaited.delete(worker)
  }

  /** The worker is being killed: its jobs in flight wait for another, and it may have claimed any waiting job. */
  killed(worker: string): void {
    for (const [job, flights] of this.inFlight.get(worker) ?? []) {
      if (flights > 0) this.orphans.add(job)
    }
    this.inFlight.delete(worker)
    this.lastKill = performance.now()
  }

  /** Records the end of a job with these tokens. */
  ended(job: string, tokens: ReadonlyArray<string>): void {
    const progress = this.progress(job)
    progress.ended = true
    for (const [index, step] of STAGES.flat().entries()) {
      const given = progress.tokens.get(step)
      if (given === undefined || !given.has(tokens[index] ?? "")) {
        this.violations.push({ job, step, what: "its result is not one that was given" })
      }
    }
  }

  private called(job: string, step: string): string {
    const progress = this.progress(job)
    const stage = stageOf(step)
    this.calls++
    if (this.orphans.delete(job)) this.takeovers.push(performance.now() - this.lastKill)
    if (progress.ended) this.violations.push({ job, step, what: "called after the job ended" })
    if (stage < progress.stage) this.violations.push({ job, step, what: "called again after it had finished" })
    progress.stage = Math.max(progress.stage, stage)
    const given = progress.tokens.get(step) ?? new Set()
    if (given.size > 0) this.repeats++
    const token = `${step}-${this.calls}`
    progress.tokens.set(step, given.add(token))
    return token
  }

  private progress(job: string): Progress {
    const known = this.jobs.get(job)
    if (known !== undefined) return known
    const progress: Progress = { stage: -1, ended: false, tokens: new Map() }
    this.jobs.set(job, progress)
    return progress
  }
}
