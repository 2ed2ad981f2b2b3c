/** A private Redis that a test can stop, freeze and restart. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { connect } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { Effect } from "effect"
import { freePort } from "./freePort.ts"
import { temporaryFolder } from "./proxy.ts"

const COMMAND = "redis-server"
const START_MS = 20_000

const { status, stdout: version } = spawnSync(COMMAND, ["--version"], { encoding: "utf8" })

/** True if Redis is installed. */
export const redisCanStart: boolean = status === 0
/** True if it knows the cluster commands used here, which came with Redis 7. */
export const redisCanCluster: boolean = redisCanStart && Number(/ v=(\d+)/.exec(version)?.[1]) >= 7
if (!redisCanStart) console.warn(`! no ${COMMAND} in PATH: tests that stop and start it are skipped`)

export interface PrivateRedis {
  readonly url: string
  readonly port: number
  /** Kills it with all its data. */
  readonly stop: Effect.Effect<void>
  /** Restarts it empty, on the same port. */
  readonly start: Effect.Effect<void>
  /** Accepts connections and requests, and answers none. */
  readonly freeze: Effect.Effect<void>
  readonly thaw: Effect.Effect<void>
  /** Runs one command and returns the reply. */
  readonly tell: (command: string) => Effect.Effect<string>
}

const ask = (port: number, command: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(`${command}\r\n`))
    socket
      .once("data", (data) => {
        resolve(data.toString())
        socket.destroy()
      })
      .once("error", reject)
  })

const answersPing = (port: number): Promise<boolean> =>
  ask(port, "PING").then(
    (reply) => reply.startsWith("+PONG"),
    () => false,
  )

const stopProcess = async (child: ChildProcess | undefined): Promise<void> => {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, "exit")
  child.kill("SIGKILL")
  await exited
}

interface Options {
  /** `false`: it is down at first. */
  readonly started?: boolean
  /** In cluster mode, with all slots on this node. */
  readonly cluster?: boolean
}

const clusterArgs = async () => ["--cluster-enabled", "yes", "--cluster-port", `${await freePort()}`]

/** Starts Redis on a free port, until the scope closes. */
export const privateRedis = Effect.fnUntraced(function* ({ cluster = false, started = true }: Options = {}) {
  const folder = yield* temporaryFolder
  const port = yield* Effect.promise(freePort)
  const mode = cluster ? yield* Effect.promise(clusterArgs) : []
  let child: ChildProcess | undefined

  const start = Effect.promise(async () => {
    const args = ["--port", `${port}`, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder]
    child = spawn(COMMAND, [...args, ...mode], { stdio: "ignore" })
    const deadline = Date.now() + START_MS
    while (!(await answersPing(port))) {
      if (Date.now() > deadline || child.exitCode !== null) throw new Error("Redis did not start")
      await sleep(20)
    }
    if (!cluster) return
    await ask(port, "CLUSTER ADDSLOTSRANGE 0 16383")
    while (!(await ask(port, "CLUSTER INFO")).includes("cluster_state:ok")) {
      if (Date.now() > deadline) throw new Error("Redis formed no cluster")
      await sleep(20)
    }
  })
  const stop = Effect.promise(() => stopProcess(child))
  const signal = (name: NodeJS.Signals) => Effect.sync(() => void child?.kill(name))

  yield* Effect.addFinalizer(() => stop)
  if (started) yield* start
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    start,
    stop,
    freeze: signal("SIGSTOP"),
    thaw: signal("SIGCONT"),
    tell: (command) => Effect.promise(() => ask(port, command)),
  } satisfies PrivateRedis
})
