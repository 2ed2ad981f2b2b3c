/** Start time and idle memory of the servers, and the time of `sealgate --help`. */
import { Effect, Exit, Scope } from "effect"
import { freePort } from "../../test/support/freePort.ts"
import { run, type Running } from "../../test/support/processes.ts"
import type { Bench, Case } from "../harness/Case.ts"
import { median } from "../harness/compare.ts"
import { peerFile } from "../harness/peers.ts"
import { memoryOf } from "../harness/processTimes.ts"
import { answers } from "../harness/servers.ts"

interface Started {
  readonly ms: number
  readonly memory: number
}

/** Starts a process several times, each in a new folder, until `ready`. */
const startOften = async (bench: Bench, ready: (scope: Scope.Scope) => Promise<Running>): Promise<Started> => {
  const all: Array<Started> = []
  for (let time = 0; time < bench.count(7, 2); time++) {
    const scope = Scope.makeUnsafe()
    const began = performance.now()
    const { pid } = await ready(scope)
    const ms = performance.now() - began
    await Effect.runPromise(Effect.sleep(500))
    all.push({ ms, memory: memoryOf(pid) })
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }
  return { ms: median(all.map(({ ms }) => ms)), memory: median(all.map(({ memory }) => memory)) }
}

const timesOf = async (bench: Bench, args: ReadonlyArray<string>): Promise<number> => {
  const times: Array<number> = []
  for (let time = 0; time < bench.count(7, 2); time++) {
    const began = performance.now()
    const code = await Effect.runPromise(
      Effect.scoped(Effect.flatMap(run(args), ({ exit }) => Effect.promise(() => exit))),
    )
    if (code !== 0) throw new Error(`sealgate ${args.join(" ")} ended with ${code}`)
    times.push(performance.now() - began)
  }
  return median(times)
}

export const start: Case = {
  name: "start",
  title: "Start, help, idle memory",
  unit: "a start",
  run: async (bench) => {
    const server = (args: ReadonlyArray<string>, env: Readonly<Record<string, string>>, module?: string) =>
      startOften(bench, async (scope) => {
        const port = await freePort()
        const options = {
          env: { PORT: String(port), HOST: "127.0.0.1", ...env },
          ...(module === undefined ? {} : { module }),
        }
        const given = args.map((arg) => arg.replace("{port}", String(port)))
        const running = await Effect.runPromise(Scope.provide(run(given, options), scope))
        await answers(`http://127.0.0.1:${port}/health`)
        return running
      })
    const proxy = await server(["proxy"], { PROVIDER1_API_KEY: "k" })
    const gateway = await server(["gateway"], {
      PROVIDER1_API_KEY: "k",
      JWT_SECRET: "a secret that is long enough for it",
    })
    const portkey = await server(
      ["--port={port}", "--headless"],
      { NODE_ENV: "production" },
      peerFile("@portkey-ai/gateway/build/start-server.js"),
    )
    return {
      figures: [
        { what: "proxy, started until healthy", unit: "ms", value: proxy.ms, atMost: 500 },
        { what: "gateway, the same, its database new", unit: "ms", value: gateway.ms, atMost: 500 },
        { what: "Portkey, the same", unit: "ms", value: portkey.ms },
        { what: "sealgate --help", unit: "ms", value: await timesOf(bench, ["--help"]), atMost: 200 },
        { what: "proxy, idle memory", unit: "MiB", value: proxy.memory, atMost: 120 },
        { what: "gateway, idle memory", unit: "MiB", value: gateway.memory, atMost: 120 },
        { what: "Portkey, idle memory", unit: "MiB", value: portkey.memory },
      ],
    }
  },
}
