/** Starts, calls, kills and restarts the processes of the crash test. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"

const WORKER = fileURLToPath(new URL("worker.ts", import.meta.url))

interface Running {
  readonly name: string
  readonly child: ChildProcess
  /** Resolves once the worker answers requests, and fails if it exits by itself; stays pending if it is killed first. */
  readonly ready: Promise<void>
  /** Set once it answers. */
  url: string | undefined
}

export class Workers {
  private readonly slots: Array<Running> = []
  private started = 0
  private closed = false
  private readonly args: ReadonlyArray<string>
  private readonly onFault: (message: string) => void

  /** `args` are database, counter's URL, lease and model's URL. `onFault` receives workers that died by themselves. */
  constructor(args: ReadonlyArray<string>, onFault: (message: string) => void) {
    this.args = args
    this.onFault = onFault
  }

  start(slot: number): Promise<void> {
    const name = `worker-${++this.started}`
    const child = spawn(process.execPath, [WORKER, name, ...this.args], { stdio: ["pipe", "pipe", "pipe"] })
    let errors = ""
    child.stderr.on("data", (data: Buffer) => (errors += data.toString()))
    const ready = new Promise<void>((resolve, reject) => {
      child.once("exit", (code, signal) => {
        if (signal === "SIGKILL") return
        const fault = `${name} exited by itself (${code ?? signal}): ${errors}`
        this.onFault(fault)
        reject(new Error(fault))
      })
      createInterface(child.stdout).on("line", (line) => {
        const port = /^ready (\d+)$/.exec(line)?.[1]
        if (port === undefined) return
        running.url = `http://127.0.0.1:${port}`
        resolve()
      })
    })
    const running: Running = { name, child, ready, url: undefined }
    this.slots[slot] = running
    return ready
  }

  nameOf(slot: number): string {
    return this.running(slot).name
  }

  /** Resolves once the worker in `slot` answers requests; never if it is killed first. */
  ready(slot: number): Promise<void> {
    return this.running(slot).ready
  }

  /** Kills the worker in `slot` with SIGKILL, and waits for its exit. */
  async kill(slot: number): Promise<void> {
    const running = this.running(slot)
    running.url = undefined
    const exited = once(running.child, "exit")
    running.child.kill("SIGKILL")
    await exited
  }

  /** Calls live workers until one answers, because workers die. Fails once all are closed. */
  async ask(path: string, query: Record<string, string>, pick: () => number): Promise<unknown> {
    while (!this.closed) {
      const url = this.pickUrl(pick)
      const answer = url === undefined ? undefined : await tryToGet(`${url}/${path}?${new URLSearchParams(query)}`)
      if (answer !== undefined) return answer.body
      await sleep(20)
    }
    throw new Error("the workers are closed")
  }

  /** Reads lines of JSON from a live worker until it has no more, or dies. Fails once all workers are closed. */
  async *lines(path: string, query: Record<string, string>, pick: () => number): AsyncGenerator<unknown> {
    if (this.closed) throw new Error("the workers are closed")
    const url = this.pickUrl(pick)
    if (url === undefined) return await sleep(20)
    try {
      const response = await fetch(`${url}/${path}?${new URLSearchParams(query)}`, { method: "POST" })
      let rest = ""
      for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        const lines = `${rest}${piece}`.split("\n")
        rest = lines.pop() ?? ""
        for (const line of lines) yield JSON.parse(line)
      }
    } catch {
      await sleep(20)
    }
  }

  private pickUrl(pick: () => number): string | undefined {
    const up = this.slots.flatMap(({ url }) => url ?? [])
    return up[Math.floor(pick() * up.length)]
  }

  async close(): Promise<void> {
    this.closed = true
    await Promise.all(this.slots.map((_, slot) => this.kill(slot)))
  }

  private running(slot: number): Running {
    const running = this.slots[slot]
    if (running === undefined) throw new Error(`no worker ${slot}`)
    return running
  }
}

/** `undefined` if the worker died meanwhile, or could not serve. */
const tryToGet = async (url: string): Promise<{ readonly body: unknown } | undefined> => {
  try {
    const response = await fetch(url, { method: "POST" })
    return response.ok ? { body: await response.json() } : undefined
  } catch {
    return undefined
  }
}
