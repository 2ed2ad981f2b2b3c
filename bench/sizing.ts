/**
 * What a proxy and a gateway of their own take of this machine, as docs/operations.md says: processor time and resident
 * memory of the server's process alone, read from /proc, so for Linux. `node bench/sizing.ts`
 */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { connect } from "node:net"
import { Effect } from "effect"
import { call, SECRET, tokenFor } from "../test/support/gateway.ts"
import { run, type Running, runProxy } from "../test/support/processes.ts"
import { FLOOD_LENGTH, FLOOD_WORDS, runHeldProvider } from "../test/proofs/shutdown/HeldProvider.ts"
import { FakeUpstream } from "../test/support/FakeUpstream.ts"

const TICKS_PER_SECOND = Number(execFileSync("getconf", ["CLK_TCK"]))
const COMPLETIONS = 1500
const FLOODS = 25
const STREAMS = 500
const CONNECTIONS = 2000
const JOBS = 300
const AT_ONCE = 16

/** Processor time of the process so far, in milliseconds. */
const cpuOf = ({ pid }: Pick<Running, "pid">): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ")
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND
}

/** Resident memory in kB. */
const memoryOf = ({ pid }: Pick<Running, "pid">): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1])

/** Runs `work` so many times, some at once. */
const repeat = async (times: number, work: (n: number) => Promise<unknown>): Promise<void> => {
  let next = 0
  const lane = async () => {
    while (next < times) await work(next++)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
}

const cpuFor = async (process: Running, times: number, work: (n: number) => Promise<unknown>): Promise<number> => {
  await repeat(Math.ceil(times / 3), work)
  const before = cpuOf(process)
  await repeat(times, work)
  return (cpuOf(process) - before) / times
}

const say = (what: string, value: number, unit: string) => console.log(`${what.padEnd(52)}${value.toFixed(2)} ${unit}`)

const unlimited = {
  RATE_LIMIT_COMPLETIONS: "0",
  RATE_LIMIT_PROBES: "0",
  MAX_CONCURRENT_PER_CLIENT: "0",
  MAX_CONNECTIONS_PER_CLIENT: "10000",
  UPSTREAM_CONCURRENCY: "10000",
  UPSTREAM_IDLE_TIMEOUT: "10min",
}

const proxyFigures = Effect.gen(function* () {
  const provider = yield* runHeldProvider
  const fake = yield* FakeUpstream.make()
  fake.always({ text: "A short answer." })
  const one = yield* runProxy({ env: { ...unlimited, PROVIDER1_API_KEY: "k", PROVIDER1_BASE_URL: fake.openAi } })
  const other = yield* runProxy({ env: { ...unlimited, PROVIDER1_API_KEY: "k", PROVIDER1_BASE_URL: provider.url } })
  yield* Effect.promise(async () => {
    const client = one.client()
    say("proxy, idle", memoryOf(one) / 1024, "MiB")
    say("proxy, a completion", await cpuFor(one, COMPLETIONS, () => client.complete({ prompt: "hello" })), "ms CPU")
    say("proxy, idle after that", memoryOf(one) / 1024, "MiB")

    const flood = async () => {
      const stream = await other.client().stream({ prompt: "floods" }, { pace: 0 })
      let left = FLOOD_WORDS * FLOOD_LENGTH
      for await (const part of stream) {
        if (part.type === "delta") left -= part.chunk.choices[0]?.delta.content?.length ?? 0
        if (left <= 0) break
      }
    }
    const perFlood = await cpuFor(other, FLOODS, flood)
    say("proxy, a stream's frame of 4 kB", perFlood / FLOOD_WORDS, "ms CPU")

    const before = memoryOf(other)
    const streams = other.client({ pace: 0 })
    for (let n = 0; n < STREAMS; n++) await (await streams.stream({ prompt: "hangs" }))[Symbol.asyncIterator]().next()
    say("proxy, an open stream", (memoryOf(other) - before) / STREAMS, "kB")

    const empty = memoryOf(one)
    const port = Number(new URL(one.url).port)
    const sockets = Array.from({ length: CONNECTIONS }, () => connect(port, "127.0.0.1"))
    for (const socket of sockets) socket.write("GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
    await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once("data", resolve))))
    say("proxy, an idle connection", (memoryOf(one) - empty) / CONNECTIONS, "kB")
    for (const socket of sockets) socket.destroy()
  })
})

const gatewayFigures = Effect.gen(function* () {
  const fake = yield* FakeUpstream.make()
  fake.always({ text: '{"resolved":[],"objections":[],"verdict":"undecided","confidence":0.9}' })
  const running = yield* run(["gateway"], {
    env: {
      PORT: "0",
      HOST: "127.0.0.1",
      LOG_FORMAT: "json",
      JWT_SECRET: SECRET,
      PROVIDER1_API_KEY: "k",
      PROVIDER1_BASE_URL: fake.openAi,
      RATE_LIMIT_READ: "0",
      RATE_LIMIT_WRITE: "0",
      RATE_LIMIT_EXECUTE: "0",
    },
  })
  const url = yield* Effect.promise(() => running.line((line) => /listening on (http:[^"\s]+)/.exec(line)?.[1]))
  const token = yield* tokenFor("alice")
  say("gateway, idle", memoryOf(running) / 1024, "MiB")
  const { json: agent } = yield* call({ url }, "POST", "/api/v1/agents", { token, body: { name: "a" } })
  const body = { task: "What is a seal?", mode: "adversarial", options: { rounds: 1 } }
  const job = async () => {
    const { json } = await Effect.runPromise(
      call({ url }, "POST", `/api/v1/agents/${agent["id"]}/execute`, { token, body }),
    )
    const ended = await Effect.runPromise(call({ url }, "GET", `/api/v1/jobs/${json["id"]}?wait=60`, { token }))
    if (ended.json["status"] !== "completed") throw new Error(`the job ended otherwise: ${ended.text}`)
  }
  yield* Effect.promise(async () => {
    say("gateway, a job of three calls", await cpuFor(running, JOBS, job), "ms CPU")
    say("gateway, after that", memoryOf(running) / 1024, "MiB")
    const pages = execFileSync("sqlite3", [`${running.folder}/.sealgate/gateway.db`, "PRAGMA page_count"])
    say("gateway, a job in the database", (Number(pages) * 4) / (JOBS * (4 / 3)), "kB")
  })
})

await Effect.runPromise(Effect.scoped(proxyFigures))
await Effect.runPromise(Effect.scoped(gatewayFigures))
