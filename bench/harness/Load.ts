/** Drives a load process (`loadProcess.ts`). */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { Effect } from "effect"

/** A load, made by a module of `bench/loads/`. */
export interface Work {
  /** Prepares a round outside the measured time. */
  readonly prepare?: (round: Round) => Promise<void>
  /** Runs one unit in a lane. Resolves with its latency in milliseconds, or with nothing to use the elapsed time. */
  readonly unit: (lane: number) => Promise<number | void>
}

export interface Round {
  readonly seconds: number
  /** Concurrent units. */
  readonly lanes: number
}

export interface Lap {
  readonly units: number
  /** From the start of the first unit to the end of the last, in milliseconds. */
  readonly ms: number
  readonly p50: number
  readonly p99: number
}

export type Command =
  | { readonly type: "make"; readonly module: string; readonly options: object }
  | ({ readonly type: "prepare" } & Round)
  | ({ readonly type: "run" } & Round)

export type Reply = { readonly lap?: Lap } | { readonly error: string }

export interface Load {
  readonly pid: number
  readonly prepare: (round: Round) => Promise<void>
  readonly run: (round: Round) => Promise<Lap>
  readonly stop: () => void
}

type Gone = Promise<readonly [Reply]>

const ask = async (child: ChildProcess, gone: Gone, command: Command): Promise<Lap | undefined> => {
  child.send(command)
  // `loadProcess.ts` sends only replies of this type.
  const [reply] = (await Promise.race([
    new Promise((resolve) => child.once("message", (reply) => resolve([reply]))),
    gone,
  ])) as [Reply]
  if ("error" in reply) throw new Error(`the load failed: ${reply.error}`)
  return reply.lap
}

/** Starts a process with the load of `bench/loads/<name>.ts`. */
export const startLoad = (name: string, options: object) =>
  Effect.acquireRelease(
    Effect.promise(async (): Promise<Load> => {
      const child = fork(new URL("./loadProcess.ts", import.meta.url), { stdio: "inherit" })
      if (child.pid === undefined) throw new Error("the load did not start")
      const gone: Gone = once(child, "exit").then(([code]) => [{ error: `its process ended with ${String(code)}` }])
      await ask(child, gone, { type: "make", module: new URL(`../loads/${name}.ts`, import.meta.url).href, options })
      return {
        pid: child.pid,
        stop: () => child.kill("SIGKILL"),
        prepare: async (round) => void (await ask(child, gone, { type: "prepare", ...round })),
        run: async (round) => {
          const lap = await ask(child, gone, { type: "run", ...round })
          if (lap === undefined) throw new Error("the load gave no figures")
          return lap
        },
      }
    }),
    ({ stop }) => Effect.sync(stop),
  )
