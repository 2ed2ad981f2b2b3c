/** A process that puts load on a server, driven from here: see `loadProcess.ts`. */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { Effect } from "effect"

/** What a module of `bench/loads/` makes. */
export interface Work {
  /** Makes ready, outside of the time that is measured, what a round of so many seconds needs. */
  readonly prepare?: (seconds: number) => Promise<void>
  /** One unit. */
  readonly unit: () => Promise<void>
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
}

const ask = async (child: ChildProcess, command: Command): Promise<Lap | undefined> => {
  child.send(command)
  // What it sends is what `loadProcess.ts` replies.
  const [reply] = (await once(child, "message")) as [Reply]
  if ("error" in reply) throw new Error(`the load failed: ${reply.error}`)
  return reply.lap
}

/** Starts a process with the load of `bench/loads/<name>.ts`. */
export const startLoad = (name: string, options: object) =>
  Effect.acquireRelease(
    Effect.promise(async (): Promise<Load & { readonly child: ChildProcess }> => {
      const child = fork(new URL("./loadProcess.ts", import.meta.url), { stdio: "inherit" })
      if (child.pid === undefined) throw new Error("the load did not start")
      await ask(child, { type: "make", module: new URL(`../loads/${name}.ts`, import.meta.url).href, options })
      return {
        child,
        pid: child.pid,
        prepare: async (round) => void (await ask(child, { type: "prepare", ...round })),
        run: async (round) => {
          const lap = await ask(child, { type: "run", ...round })
          if (lap === undefined) throw new Error("the load gave no figures")
          return lap
        },
      }
    }),
    ({ child }) => Effect.sync(() => child.kill("SIGKILL")),
  )
