/**
 * Load during faults: lanes that each submit one job after the other to any gateway and follow
 * it to its end. Records acknowledged jobs, their ends, and unexpected answers.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { Answer } from "../../support/gateway.ts"
import type { Caller } from "./Caller.ts"
import type { Fleet } from "../fleet.ts"

/** The current fault, which decides which answers are acceptable. */
type Phase = "nothing" | "gateway" | "postgres"

/** Seconds of a long poll; a job usually ends sooner. */
const WAIT_SECONDS = 5
const BETWEEN_TRIES_MS = 100
/** Time limit for answers, beyond their long poll. */
const SLOW_MS = 15_000
/** Every job ends within this time after the last fault: a lease and a few short calls. */
const DRAIN_MS = 60_000
const ENDED = new Set(["completed", "failed", "cancelled", "timed_out"])

export class Load {
  /** Acknowledged jobs with their owner and, once ended, their result as JSON. */
  readonly jobs = new Map<string, { readonly caller: Caller; ended: string | undefined }>()
  /** Unexpected and missing answers. */
  readonly wrong: Array<string> = []
  /** Answers by status. */
  readonly answers = new Map<number, number>()
  slowestMs = 0
  phase: Phase = "nothing"
  private readonly gateways: Fleet
  private readonly lanes: ReadonlyArray<Promise<void>>
  private stopped = false
  private turn = 0

  constructor(gateways: Fleet, callers: ReadonlyArray<Caller>) {
    this.gateways = gateways
    this.lanes = callers.map((caller) => this.lane(caller))
    // Awaited later.
    for (const lane of this.lanes) lane.catch(() => undefined)
  }

  /** Stops submitting, and returns once every lane's last job has ended, or after a time limit. */
  async finish(): Promise<void> {
    this.stopped = true
    await Promise.race([Promise.all(this.lanes), sleep(DRAIN_MS, undefined, { ref: false })])
    for (const [id, { ended }] of this.jobs) if (ended === undefined) this.wrong.push(`${id} did not end`)
  }

  get ended(): number {
    return [...this.jobs.values()].filter(({ ended }) => ended !== undefined).length
  }

  private async lane(caller: Caller): Promise<void> {
    const created = await this.ask(caller, "POST", "/api/v1/agents", { body: { name: "load" } })
    for (let n = 0; !this.stopped; n++) {
      const submitted = await this.ask(caller, "POST", `/api/v1/agents/${created.json["id"]}/execute`, {
        body: { task: `${caller.tenant} ${n}` },
        headers: { "idempotency-key": `${caller.tenant}-${n}` },
      })
      const job = { caller, ended: undefined }
      this.jobs.set(String(submitted.json["id"]), job)
      await this.follow(String(submitted.json["id"]), job)
    }
  }

  private async follow(id: string, job: { readonly caller: Caller; ended: string | undefined }): Promise<void> {
    while (job.ended === undefined) {
      const { json } = await this.ask(job.caller, "GET", `/api/v1/jobs/${id}?wait=${WAIT_SECONDS}`)
      if (ENDED.has(String(json["status"]))) job.ended = JSON.stringify(json)
    }
  }

  /** Tries the gateways in turn until one succeeds. */
  private async ask(caller: Caller, method: string, path: string, options?: Parameters<Caller["ask"]>[3]) {
    while (true) {
      const gateway = this.gateways.all[this.turn++ % this.gateways.all.length]
      if (gateway === undefined) throw new Error("no gateway")
      const [began, before] = [performance.now(), this.phase]
      const reply = await caller.ask(gateway, method, path, options).catch((error: unknown) => String(error))
      const took = performance.now() - began - (path.includes("wait=") ? WAIT_SECONDS * 1000 : 0)
      this.slowestMs = Math.max(this.slowestMs, took)
      if (took > SLOW_MS) this.wrong.push(`${method} ${path} took ${Math.round(took)} ms`)
      if (typeof reply === "string") {
        if (before !== "gateway" && this.phase !== "gateway") this.wrong.push(`${method} ${path}: ${reply}`)
      } else {
        this.answers.set(reply.status, (this.answers.get(reply.status) ?? 0) + 1)
        if (reply.status < 300) return reply
        this.judge(`${method} ${path}`, reply, before)
      }
      await sleep(BETWEEN_TRIES_MS)
    }
  }

  private judge(what: string, { headers, json, status }: Answer, before: Phase): void {
    const excused =
      (before === "postgres" || this.phase === "postgres") &&
      status === 503 &&
      json["code"] === "storage-unavailable" &&
      headers.has("retry-after")
    // A gateway that the caller gave up on still handles the same key.
    const underWay = status === 409 && json["code"] === "idempotency-in-flight"
    if (!excused && !underWay) this.wrong.push(`${what}: ${status} ${JSON.stringify(json)}`)
  }
}
