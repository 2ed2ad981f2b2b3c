/** Starts servers under attack in separate processes, and measures them from outside. */
import { readFileSync, writeFileSync } from "node:fs"
import { setTimeout } from "node:timers/promises"
import { Effect } from "effect"
import type { Fetch, SealedClientOptions } from "../../../src/client/sealed/SealedClient.ts"
import { tokenFor } from "../../support/gateway.ts"
import { operatorUrlIn, runProxy } from "../../support/processes.ts"
import { scrape, valueOf } from "../../support/prometheus.ts"
import { runGateway } from "../../support/gatewayProcess.ts"

const PRELOAD = new URL("./collectOnSignal.ts", import.meta.url).href

export interface Server {
  readonly pid: number
  readonly url: string
  readonly port: number
  readonly kill: (signal: NodeJS.Signals) => void
  /** The operator's listener. */
  readonly operatorUrl: string
}

type Environment = Readonly<Record<string, string>>

const portOf = (url: string): number => Number(new URL(url).port)
const plainFetch: Fetch = (url, init) => fetch(url, init)

/** A proxy with default settings, except for those given; without a provider key it is the echo. */
export const startProxyProcess = Effect.fnUntraced(function* (env: Environment = {}, secureFetch?: Fetch) {
  const proxy = yield* runProxy({
    secure: secureFetch !== undefined,
    // The default, which `runProxy` disables.
    env: { RATE_LIMIT_INIT: "60", NODE_OPTIONS: `--import=${PRELOAD}`, ...env },
  })
  const fetch = secureFetch ?? plainFetch
  const client = (options: Partial<SealedClientOptions> = {}) => proxy.client({ fetch, ...options })
  return { ...proxy, port: portOf(proxy.url), fetch, client }
})

export type ProxyProcess = Effect.Success<ReturnType<typeof startProxyProcess>>

/** A gateway on a new database, with a token for its honest caller. */
export const startGatewayProcess = Effect.fnUntraced(function* (env: Environment = {}) {
  const running = yield* runGateway({ env: { NODE_OPTIONS: `--import=${PRELOAD}`, ...env } })
  const operatorUrl = yield* Effect.promise(() => running.line(operatorUrlIn))
  return { ...running, operatorUrl, port: portOf(running.url), fetch: plainFetch, token: yield* tokenFor("honest") }
})

export type GatewayProcess = Effect.Success<ReturnType<typeof startGatewayProcess>>

const statusOf = (pid: number, name: string): number => {
  const [, kilobytes] =
    new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? []
  return Number(kilobytes) * 1024
}

/** Resident bytes. */
export const residentOf = ({ pid }: Server): number => statusOf(pid, "VmRSS")

/** Peak resident bytes since {@link forgetPeak}. */
export const peakOf = ({ pid }: Server): number => statusOf(pid, "VmHWM")

/** proc(5): 5 resets the high-water mark. */
export const forgetPeak = ({ pid }: Server): void => writeFileSync(`/proc/${pid}/clear_refs`, "5")

export const metricsOf = (server: Server) => scrape(server)

/** Bytes that the process holds after a garbage collection: JavaScript heap and external memory. */
export const heldBy = async (server: Server): Promise<number> => {
  for (let i = 0; i < 2; i++) {
    server.kill("SIGUSR2")
    await setTimeout(50)
    // A busy server answers this only after handling the signal.
    await metricsOf(server)
  }
  const families = await metricsOf(server)
  const kind = (kind: string) => valueOf(families, "sealgate_process_memory_bytes", { kind })
  return kind("heapUsed") + kind("external")
}

/** 127.77.x.y in /proc/net/tcp: hexadecimal, bytes reversed. */
const ATTACKER = /^[0-9A-F]{4}4D7F:/

/** Counts attackers' connections that the server process still holds, in any state. */
export const attackersAt = ({ port }: Pick<Server, "port">): number => {
  const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`
  return readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .filter((line) => {
      const [, address = "", remote = "", , , , , , , inode = "0"] = line.trim().split(/\s+/)
      // Sockets without an owner have no inode.
      return address.endsWith(local) && ATTACKER.test(remote) && inode !== "0"
    }).length
}
