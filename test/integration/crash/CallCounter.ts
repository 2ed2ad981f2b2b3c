/**
 * The upstream of the crash test. It counts calls and knows, from the order in which steps are called, which steps must
 * have been stored by then: a step that comes after others is called only when those are on disk. So a second call of
 * one of them after that is a finished call made again.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

/** The steps of the scripted program in the order in which they depend on each other. */
const STAGES: ReadonlyArray<ReadonlyArray<string>> = [["before"], ["one", "two", "three"], ["after"]]
const stageOf = (step: string): number => STAGES.findIndex((stage) => stage.includes(step))

export interface Violation {
  readonly job: string
  readonly step: string
  readonly what: string
}

interface Progress {
  /** The furthest stage that was called; all before it are finished. */
  stage: number
  ended: boolean
  /** The tokens given to each step. */
  readonly tokens: Map<string, Set<string>>
}

export class CallCounter {
  readonly violations: Array<Violation> = []
  calls = 0
  /** Calls of a step that had been called before. */
  repeats = 0
  /** For each job that lost its worker in the middle of a call: milliseconds from the last kill to its next call. */
  readonly takeovers: Array<number> = []
  private readonly orphans = new Set<string>()
  private lastKill = 0
  private readonly jobs = new Map<string, Progress>()
  private readonly inFlight = new Map<string, Map<string, number>>()
  /** Who waits for how many more calls of which worker. */
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

  /** `delay` gives the milliseconds that each call takes. */
  constructor(delay: () => number) {
    this.delay = delay
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve))
    // A server that listens on a port has an address of this shape.
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  close(): void {
    this.server.close()
    this.server.closeAllConnections()
  }

  /** Resolves when that many more calls of the worker have arrived; the last of them is then in flight. */
  async callsOf(worker: string, count: number): Promise<void> {
    await new Promise<void>((resolve) => this.awaited.set(worker, { left: count, resolve }))
    this.awaited.delete(worker)
  }

  /** The worker is being killed: its jobs in flight wait for another, and any job that waits may have been claimed by it. */
  killed(worker: string): void {
    for (const [job, flights] of this.inFlight.get(worker) ?? []) {
      if (flights > 0) this.orphans.add(job)
    }
    this.inFlight.delete(worker)
    this.lastKill = performance.now()
  }

  /** The job was seen ended with these tokens. */
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
