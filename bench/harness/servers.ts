/** Starts the servers of the cases, each as a separate process. */
import { setTimeout as sleep } from "node:timers/promises"
import { Effect, type Scope } from "effect"
import { freePort } from "../../test/support/freePort.ts"
import { call, SECRET, tokenFor } from "../../test/support/gateway.ts"
import { run, type Running, runProxy } from "../../test/support/processes.ts"
import type { JobsLoad } from "../loads/jobs.ts"
import { peerFile } from "./peers.ts"

export interface Server extends Running {
  readonly url: string
}

type Environment = Readonly<Record<string, string>>

const listening = (running: Running) =>
  Effect.promise(async (): Promise<Server> => {
    const url = await running.line((line) => /listening on (http:[^"\s]+)/.exec(line)?.[1])
    return { ...running, url }
  })

export const runServer = (name: string, env: Environment = {}): Effect.Effect<Server, never, Scope.Scope> =>
  Effect.flatMap(run([], { env, module: new URL(`../servers/${name}.ts`, import.meta.url).pathname }), listening)

/** Provider answer that makes an adversarial job take exactly three steps. */
export const VERDICT = '{"resolved":[],"objections":[],"verdict":"undecided","confidence":0.9}'

export const callsOf = async ({ url }: Pick<Server, "url">): Promise<number> => {
  const { calls } = (await (await fetch(`${url}/count`)).json()) as { readonly calls: number }
  return calls
}

const TASK = { task: "What is a seal?" }

/** Starts a gateway and returns how to post jobs of three calls to it. */
export const runGateway = Effect.fnUntraced(function* (database: string, upstream: Server, env: Environment = {}) {
  const gateway = yield* Effect.flatMap(
    run(["gateway"], {
      env: {
        PORT: "0",
        HOST: "127.0.0.1",
        JWT_SECRET: SECRET,
        DATABASE_URL: database,
        PROVIDER1_API_KEY: "k",
        PROVIDER1_BASE_URL: `${upstream.url}/v1`,
        UPSTREAM_CONCURRENCY: "10000",
        MAX_WAITING_PER_TENANT: "0",
        MAX_CALLS_PER_TENANT: "0",
        MAX_CONNECTIONS_PER_CLIENT: "10000",
        RATE_LIMIT_READ: "0",
        RATE_LIMIT_WRITE: "0",
        RATE_LIMIT_EXECUTE: "0",
        ...env,
      },
    }),
    listening,
  )
  const token = yield* tokenFor("alice")
  const { json, text } = yield* call(gateway, "POST", "/api/v1/agents", { token, body: { name: "a" } })
  if (json["id"] === undefined) throw new Error(`no agent was made: ${text}`)
  const jobs: JobsLoad = {
    accept: `${gateway.url}/api/v1/agents/${String(json["id"])}/execute`,
    wait: `${gateway.url}/api/v1/jobs/{id}?wait=60`,
    body: { ...TASK, mode: "adversarial", options: { rounds: 1 } },
    headers: { authorization: `Bearer ${token}` },
    accepted: 202,
    completed: "completed",
  }
  return { ...gateway, jobs }
})

/** Starts DBOS and returns how to post workflows of three calls to it. */
export const runDbos = Effect.fnUntraced(function* (database: string, upstream: Server, connections: number) {
  const dbos = yield* runServer("dbos", { DATABASE: database, UPSTREAM: upstream.url, CONNECTIONS: `${connections}` })
  const jobs: JobsLoad = {
    accept: `${dbos.url}/jobs`,
    wait: `${dbos.url}/jobs/{id}`,
    body: TASK,
    headers: {},
    accepted: 202,
    completed: "SUCCESS",
  }
  return { ...dbos, jobs }
})

/** Starts a proxy without limits in front of a provider. */
export const runSealgate = (upstream: Server, env: Environment = {}) =>
  runProxy({
    env: {
      PROVIDER1_API_KEY: "k",
      PROVIDER1_BASE_URL: `${upstream.url}/v1`,
      SESSION_MAX_REQUESTS: "65536",
      RATE_LIMIT_COMPLETIONS: "0",
      RATE_LIMIT_READ: "0",
      MAX_CONCURRENT_PER_CLIENT: "0",
      MAX_CONNECTIONS_PER_CLIENT: "10000",
      UPSTREAM_CONCURRENCY: "10000",
      ...env,
    },
  })

export const runPortkey = Effect.fnUntraced(function* (upstream: Server) {
  const port = yield* Effect.promise(freePort)
  const module = peerFile("@portkey-ai/gateway/build/start-server.js")
  const running = yield* run([`--port=${port}`, "--headless"], { module, env: { NODE_ENV: "production" } })
  const url = `http://127.0.0.1:${port}`
  yield* Effect.promise(() => answers(url))
  const headers = {
    authorization: "Bearer k",
    "x-portkey-provider": "openai",
    "x-portkey-custom-host": `${upstream.url}/v1`,
  }
  return { ...running, url, headers }
})

/** Waits until a server answers with any status. */
export const answers = async (url: string): Promise<void> => {
  for (;;) {
    const isThere = await fetch(url).then(
      () => true,
      () => false,
    )
    if (isThere) return
    await sleep(5)
  }
}
