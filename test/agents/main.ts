/**
 * `npm run test:agents`: installs coding agents from npm, unmodified, into a temporary folder, and has each finish a task with
 * a tool call, through connector and proxy and through the gateway, with a model by script behind them. Names of agents'
 * commands choose among them.
 */
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { text } from "node:stream/consumers"
import { parseArgs } from "node:util"
import { Effect } from "effect"
import { startConnector, startGateway, startProxy } from "../../examples/demo/serverProcess.ts"
import { GatewayClient } from "../../src/client/gateway.ts"
import { type NativeRequest, startNative } from "../support/nativeUpstream.ts"
import { type Agent, AGENTS, type Place } from "./agents.ts"
import { DONE, scriptedModel } from "./scriptedModel.ts"

const PATIENCE_MS = 120_000
const TASK = "Write the word sealed into the file seal.txt."
const COMMAND = "printf sealed > seal.txt"
const OPERATOR_KEY = "operator-key"

interface Ran {
  readonly code: number | null
  readonly output: string
  readonly written: string
}

const writtenIn = (folder: string): string => {
  try {
    return readFileSync(join(folder, "seal.txt"), "utf8")
  } catch {
    return "nothing"
  }
}

/** Runs an agent in an empty home, with nothing of the caller's environment. */
const run = async (agent: Agent, folder: string, place: Place): Promise<Ran> => {
  const home = join(folder, `home-${place.name}-${agent.command}`)
  const work = join(home, "work")
  mkdirSync(work, { recursive: true })
  for (const [path, content] of Object.entries(agent.files(place))) {
    mkdirSync(dirname(join(home, path)), { recursive: true })
    writeFileSync(join(home, path), content)
  }
  const child = spawn(join(folder, "node_modules/.bin", agent.command), agent.args(TASK), {
    cwd: work,
    env: { PATH: process.env["PATH"], HOME: home, NO_COLOR: "1", ...agent.env(place) },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: PATIENCE_MS,
    killSignal: "SIGKILL",
  })
  const output = Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = await once(child, "exit")
  return { code: code === null ? null : Number(code), output: (await output).join("\n"), written: writtenIn(work) }
}

/** The faults of a run, and of the requests that the vendor got meanwhile. */
const problemsOf = (
  agent: Agent,
  { key }: Place,
  ran: Ran,
  requests: ReadonlyArray<NativeRequest>,
): ReadonlyArray<string> => {
  const turns = requests.filter(({ path }) => path.split("?")[0] === agent.path)
  const sent = JSON.stringify(requests.map(({ body, headers }) => ({ body, headers })))
  return [
    ...(ran.code === 0 ? [] : [`exit code ${ran.code}`]),
    ...(ran.written === "sealed" ? [] : [`its tool wrote ${ran.written}`]),
    ...(ran.output.includes(DONE) ? [] : ["it does not say what the model said last"]),
    ...(turns.length >= 2 ? [] : [`${turns.length} turns over ${agent.path}`]),
    ...(sent.includes(key) ? ["the provider saw the agent's own key"] : []),
    ...(requests.every(({ headers }) => JSON.stringify(headers).includes(OPERATOR_KEY))
      ? []
      : ["a request without the operator's key"]),
  ]
}

type Environment = Readonly<Record<string, string>>

const running = <A extends { readonly stop: () => Promise<unknown> }>(start: () => Promise<A>) =>
  Effect.acquireRelease(Effect.promise(start), ({ stop }) => Effect.promise(stop))

const throughConnector = Effect.fnUntraced(function* (env: Environment) {
  const proxy = yield* running(() => startProxy(env))
  const { url } = yield* running(() => startConnector(proxy))
  return { name: "connector", url, key: "unused-key-4711" } satisfies Place
})

/** A gateway, and a key with a budget. */
const throughGateway = Effect.fnUntraced(function* (env: Environment) {
  const { token, url } = yield* running(() =>
    startGateway({ ...env, PROVIDER1_MODEL: "gpt-x", PROVIDER3_MODEL: "claude-x" }),
  )
  const { key } = yield* Effect.promise(() =>
    new GatewayClient({ baseUrl: url, token }).keys.create({
      name: "agents",
      roles: ["run"],
      budgets: [{ per: "day", max_tokens: 10_000_000 }],
    }),
  )
  return { name: "gateway", url, key } satisfies Place
})

const program = Effect.gen(function* () {
  const { positionals, values } = parseArgs({ allowPositionals: true, options: { folder: { type: "string" } } })
  const agents = AGENTS.filter(({ command }) => positionals.length === 0 || positionals.includes(command))
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => values.folder ?? mkdtempSync(join(tmpdir(), "sealgate-agents-"))),
    (folder) => Effect.sync(() => values.folder === undefined && rmSync(folder, { recursive: true, force: true })),
  )
  writeFileSync(join(folder, "package.json"), '{"private":true}')
  const install = ["install", "--silent", "--no-audit", "--no-fund", "--no-save", ...agents.map(({ spec }) => spec)]
  execFileSync("npm", install, { cwd: folder, stdio: "inherit" })

  const native = yield* startNative(scriptedModel(COMMAND))
  const env = {
    PROVIDER1_API_KEY: OPERATOR_KEY,
    PROVIDER1_BASE_URL: `${native.url}/v1`,
    PROVIDER3_API_KEY: OPERATOR_KEY,
    PROVIDER3_BASE_URL: native.url,
  }
  const places = [yield* throughConnector(env), yield* throughGateway(env)]
  let failures = 0
  for (const [place, agent] of places.flatMap((place) => agents.map((agent) => [place, agent] as const))) {
    const before = native.requests.length
    const started = performance.now()
    const ran = yield* Effect.promise(() => run(agent, folder, place))
    const requests = native.requests.slice(before)
    const problems = problemsOf(agent, place, ran, requests)
    if (problems.length > 0) failures++
    const seconds = ((performance.now() - started) / 1000).toFixed(1)
    const what = `${place.name}: ${agent.name} (${agent.spec}), ${requests.length} requests, ${seconds} s`
    console.log(problems.length === 0 ? `✓ ${what}` : `✗ ${what}: ${problems.join("; ")}\n${ran.output}`)
  }
  return failures
})

process.exitCode = (await Effect.runPromise(Effect.scoped(program))) === 0 ? 0 : 1
