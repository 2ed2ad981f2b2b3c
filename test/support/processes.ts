/** Runs the `sealgate` command in separate processes, for tests of signals, exit codes, output and memory. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { Effect } from "effect"
import { SealedClient, type SealedClientOptions } from "../../src/client/sealed/SealedClient.ts"
import { temporaryFolder } from "./proxy.ts"

const COMMAND = new URL("../../dist/cli/main.js", import.meta.url).pathname
/** Inherited environment: PATH and Node's compile cache. */
const OWN = { PATH: process.env["PATH"], NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] }
const PAUSE_AT_EXIT = new URL("./pauseAtExit.ts", import.meta.url).pathname

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>
  /** Pauses the process at its exit until it is killed: see `pauseAtExit.ts`. */
  readonly pauseAtExit?: boolean
  /** Default: a temporary folder. */
  readonly folder?: string
  /** Runs this module instead of the command. */
  readonly module?: string
}

export interface Running {
  readonly pid: number
  readonly folder: string
  /** Lines printed so far. */
  readonly stdout: ReadonlyArray<string>
  readonly stderr: ReadonlyArray<string>
  /** Waits for the first line of either, past or future, for which `find` returns a value. */
  readonly line: <A>(find: (line: string) => A | undefined) => Promise<A>
  readonly kill: (signal: NodeJS.Signals) => void
  /** Exit code, or the signal that ended it. */
  readonly exit: Promise<number | string>
}

const follow = (child: ChildProcess, pid: number, folder: string): Running => {
  const stdout: Array<string> = []
  const stderr: Array<string> = []
  const waiting = new Set<(line: string) => void>()
  for (const [stream, lines] of [
    [child.stdout, stdout],
    [child.stderr, stderr],
  ] as const) {
    if (stream === null) continue
    createInterface(stream).on("line", (line) => {
      lines.push(line)
      for (const look of waiting) look(line)
    })
  }
  // "close" follows "exit" once all output has been read.
  const exit = once(child, "close").then(([code, signal]) => (code === null ? String(signal) : Number(code)))
  return {
    pid,
    folder,
    stdout,
    stderr,
    exit,
    kill: (signal) => void child.kill(signal),
    line: <A>(find: (line: string) => A | undefined) => {
      for (const line of [...stdout, ...stderr]) {
        const found = find(line)
        if (found !== undefined) return Promise.resolve(found)
      }
      const { promise, reject, resolve } = Promise.withResolvers<A>()
      const look = (line: string) => {
        const found = find(line)
        if (found === undefined) return
        waiting.delete(look)
        resolve(found)
      }
      waiting.add(look)
      void exit.then((code) =>
        reject(new Error(`ended with ${code} before that: ${[...stdout, ...stderr].join("\n")}`)),
      )
      return promise
    },
  }
}

/** Runs `sealgate` with exactly this environment, until it ends or the scope closes. */
export const run = Effect.fnUntraced(function* (args: ReadonlyArray<string>, options: RunOptions = {}) {
  const folder = options.folder ?? (yield* temporaryFolder)
  const preload = options.pauseAtExit === true ? ["--import", PAUSE_AT_EXIT] : []
  return yield* Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(process.execPath, [...preload, options.module ?? COMMAND, ...args], {
        cwd: folder,
        env: { ...OWN, NO_COLOR: "1", ...options.env },
        stdio: ["ignore", "pipe", "pipe"],
      })
      if (child.pid === undefined) throw new Error("the process did not start")
      return follow(child, child.pid, folder)
    }),
    (running) =>
      Effect.promise(async () => {
        running.kill("SIGKILL")
        await running.exit
      }),
  )
})

/** The address of the operator's listener in a line of the log. */
export const operatorUrlIn = (line: string): string | undefined => /for the operator: (http:[^\s"]+)/.exec(line)?.[1]

export interface RunningProxyProcess extends Running {
  readonly url: string
  /** The operator's listener. */
  readonly operatorUrl: string
  readonly kid: string
  readonly client: (options?: Partial<SealedClientOptions>) => SealedClient
}

/** Starts a proxy process, and waits for its address and pin. */
export const runProxy = Effect.fnUntraced(function* (options: RunOptions & { readonly secure?: boolean } = {}) {
  const env = { PORT: "0", HOST: "127.0.0.1", LOG_FORMAT: "json", RATE_LIMIT_INIT: "0", ...options.env }
  const running = yield* run(["proxy"], { ...options, env })
  return yield* Effect.promise(async (): Promise<RunningProxyProcess> => {
    const address = await running.line((line) => /listening on ([\d.:]+)/.exec(line)?.[1])
    const kid = await running.line((line) => /identity to pin: ([\w-]+)/.exec(line)?.[1])
    const operatorUrl = await running.line(operatorUrlIn)
    const url = `${options.secure === true ? "https" : "http"}://${address}`
    return {
      ...running,
      url,
      operatorUrl,
      kid,
      client: (options) => new SealedClient({ baseUrl: url, pins: [kid], pace: 0, ...options }),
    }
  })
})
