/** A process that puts load on a server, driven from here: see `loadProcess.ts`. */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { Effect } from "effect"

/** What a module of `bench/loads/` makes. */
export interface Work {
  /** Makes ready, outside of the time that is measured, what a round needs. */
  readonly prepare?: (round: Round) => Promise<void>
  /** One unit, in the lane of this number. What it took is what it says in milliseconds, or how long it was. */
  readonly unit: (lane: number) => Promise<number | void>
}

export interface Round {
  readonly seconds: number
  /** Units at once. */
  readonly lanes: number
}

export interface Lap {
  readonly units: number
  /** From the first unit's beginning to the last one's end, in milliseconds. */
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
  // What it sends is what `loadProcess.ts` replies.
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
