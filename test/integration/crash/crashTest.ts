/**
 * Kills gateway processes at random points under load, and checks durability: no acknowledged job is lost, none has two
 * results, no finished step is called again, and every job ends. Jobs with tools are also followed, by clients that
 * resume at another gateway.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { CallCounter, type Violation } from "./CallCounter.ts"
import { type FollowedEvent, wrongInTrail } from "./followedJob.ts"
import { type EndedJob, ToolRecorder } from "./ToolRecorder.ts"
import { Workers } from "./Workers.ts"

interface CrashTestOptions {
  /** Path of an SQLite file, or `postgres://` URL of an empty schema. */
  readonly database: string
  readonly kills: number
  readonly processes: number
  /** Concurrent jobs, and how many of them have tools. */
  readonly load: number
  readonly withTools: number
  /** Seconds after which a silent worker counts as dead; the product's default is 15. */
  readonly leaseSeconds: number
  readonly seed: number
  readonly log: (message: string) => void
}

interface CrashReport {
  readonly kills: number
  readonly acknowledged: number
  readonly completed: number
  /** Jobs that ended otherwise, or changed after their end. */
  readonly wrong: ReadonlyArray<string>
  readonly violations: ReadonlyArray<Violation>
  /** Workers that died by themselves. */
  readonly faults: ReadonlyArray<string>
  readonly calls: number
  /** Repeated calls that were in flight at a kill. */
  readonly repeats: number
  /** Milliseconds from the last kill until the last job without a worker resumed. */
  readonly slowestTakeover: number
  readonly takeovers: number
  readonly tools: {
    /** Completed jobs with tools. */
    readonly jobs: number
    /** Calls of their model, tools and MCP server. */
    readonly calls: number
    /** Repeated calls of tools, and those among them that no kill explains. */
    readonly repeats: number
    readonly unexplained: number
    /** Connections that brought their followers events. */
    readonly connections: number
  }
  readonly seconds: number
}

/** Longest call of a scripted step, and of a tool, in milliseconds. */
const MAX_CALL = 60
const MAX_TOOL_CALL = 200
/** Most calls of a worker before it is killed, and its lifetime in milliseconds without calls. */
const MAX_CALLS = 40
const MAX_IDLE = 3000
/** Share of workers that are killed while starting. */
const KILLED_YOUNG = 0.1
const MAX_YOUTH = 800
/** Every job ends within this time after the last kill: a lease and a few short calls. */
const DRAIN_MS = 60_000

interface JobJson extends EndedJob {
  readonly status: string
}
interface ListJson {
  readonly ids: ReadonlyArray<string>
  readonly next?: string
}
const ENDED = new Set(["completed", "failed", "cancelled", "timed_out"])

export const runCrashTest = async (options: CrashTestOptions): Promise<CrashReport> => {
  const started = performance.now()
  const random = mulberry32(options.seed)
  const counter = new CallCounter(() => random() * MAX_CALL)
  const recorder = await ToolRecorder.start(() => random() * MAX_TOOL_CALL)
  const faults: Array<string> = []
  const workers = new Workers(
    [options.database, await counter.listen(), `${options.leaseSeconds}`, recorder.modelUrl],
    (fault) => faults.push(fault),
  )
  const ended = new Map<string, string>()
  const pending = new Set<string>()
  const wrong: Array<string> = []
  const stop = new AbortController()
  let acknowledged = 0
  let toolJobs = 0
  let connections = 0

  const report = (): CrashReport => ({
    kills: options.kills,
    acknowledged,
    completed: ended.size,
    wrong,
    violations: [...counter.violations, ...recorder.violations],
    faults,
    calls: counter.calls,
    repeats: counter.repeats,
    takeovers: counter.takeovers.length,
    slowestTakeover: Math.max(0, ...counter.takeovers),
    tools: {
      jobs: toolJobs,
      calls: recorder.calls,
      repeats: recorder.repeats,
      unexplained: recorder.unexplained,
      connections,
    },
    seconds: (performance.now() - started) / 1000,
  })

  const ask = <A>(path: string, query: Record<string, string>) =>
    // The test's workers answer with this shape.
    workers.ask(path, query, random) as Promise<A>

  /** Follows a job to its end, over the deaths of the workers that it follows it at. */
  const follow = async (id: string): Promise<ReadonlyArray<FollowedEvent>> => {
    const events: Array<FollowedEvent> = []
    while (events.at(-1)?._tag !== "Ended") {
      const before = events.length
      for await (const line of workers.lines("events", { id, last: events.at(-1)?.id ?? "0" }, random)) {
        // The test's workers write events of this shape.
        events.push(line as FollowedEvent)
      }
      if (events.length > before) connections++
    }
    return events
  }

  const checkTools = (task: string, job: JobJson, events: ReadonlyArray<FollowedEvent>): void => {
    const texts = recorder.ended(task, job)
    const askedFor = (step: string) => recorder.askedFor(task, step)
    recorder.violations.push(...wrongInTrail(events, { id: job.id, steps: job.steps, texts, askedFor }))
    toolJobs++
  }

  /** Submits one job after the other, each under a separate key, and waits for the end of each. */
  const load = async (agent: string, lane: number, hasTools: boolean): Promise<void> => {
    for (let n = 0; !stop.signal.aborted; n++) {
      const key = `${lane}-${n}`
      const id = await ask<string>("enqueue", { id: agent, key })
      acknowledged++
      pending.add(id)
      const again = random() < 0.2 ? await ask<string>("enqueue", { id: agent, key }) : id
      if (again !== id) wrong.push(`${key} made two jobs`)
      const following = hasTools ? follow(id) : undefined
      // Fails only if the workers close, like the lane.
      following?.catch(() => undefined)
      let job = await ask<JobJson>("wait", { id })
      while (!ENDED.has(job.status)) job = await ask<JobJson>("wait", { id })
      ended.set(id, JSON.stringify(job))
      pending.delete(id)
      if (job.status !== "completed") wrong.push(`${id} ${JSON.stringify(job)}`)
      else if (following === undefined) counter.ended(id, job.result?.answer.split(" ") ?? [])
      else checkTools(key, job, await following)
    }
  }

  try {
    const slots = Array.from({ length: options.processes }, (_, slot) => slot)
    await Promise.all(slots.map((slot) => workers.start(slot)))
    const agent = await ask<string>("agent", { agent: JSON.stringify({ name: "scripted" }) })
    const withTools = { name: "with tools", default_mode: "direct", ...recorder.agent }
    const toolAgent = await ask<string>("agent", { agent: JSON.stringify(withTools) })
    const lanes = Array.from({ length: options.load }, (_, lane) =>
      lane < options.withTools ? load(toolAgent, lane, true) : load(agent, lane, false),
    )
    // A lane fails only if the workers close, after its job failed to end.
    for (const lane of lanes) lane.catch(() => undefined)

    for (let kill = 1; kill <= options.kills; kill++) {
      const slot = Math.floor(random() * options.processes)
      if (kill === 1) {
        // Hits a call for certain, however slow the machine is.
        await workers.ready(slot)
        await counter.callsOf(workers.nameOf(slot), 1)
      } else if (random() < KILLED_YOUNG) await sleep(random() * MAX_YOUTH)
      else {
        await workers.ready(slot)
        const calls = counter.callsOf(workers.nameOf(slot), 1 + random() * MAX_CALLS)
        await Promise.race([calls, sleep(MAX_IDLE)])
        await sleep(random() * MAX_CALL)
      }
      counter.killed(workers.nameOf(slot))
      recorder.killed()
      await workers.kill(slot)
      void workers.start(slot)
      if (kill % 10 === 0)
        options.log(`${kill} kills, ${acknowledged} jobs, ${ended.size} ended, ${counter.calls} calls`)
    }
    stop.abort()
    await Promise.race([Promise.all(lanes), sleep(DRAIN_MS, undefined, { ref: false })])
    for (const id of pending) wrong.push(`${id} did not end`)
    if (pending.size > 0) return report()

    options.log("looking at every job once more")
    for (const [id, before] of ended) {
      if (JSON.stringify(await ask<JobJson>("wait", { id })) !== before) wrong.push(`${id} changed after its end`)
    }
    const listed: Array<string> = []
    let cursor: string | undefined
    do {
      const page = await ask<ListJson>("list", cursor === undefined ? {} : { cursor })
      listed.push(...page.ids)
      cursor = page.next
    } while (cursor !== undefined)
    for (const id of listed) if (!ended.has(id)) wrong.push(`${id} was never acknowledged`)
    if (listed.length !== acknowledged) wrong.push(`${acknowledged} jobs acknowledged, ${listed.length} listed`)
  } finally {
    await workers.close()
    counter.close()
    await recorder.close()
  }
  return report()
}

/** A seeded generator, so that a run can be repeated with the same kills. */
const mulberry32 = (seed: number) => {
  let state = seed >>> 0
  return (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
