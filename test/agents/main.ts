/**
 * `npm run test:agents`: installs coding agents from npm, unmodified, into a temporary folder, and has each finish a task with
 * a tool call through connector and proxy, with a model by script behind them. Names of agents' commands choose among them.
 */
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { text } from "node:stream/consumers"
import { parseArgs } from "node:util"
import { Effect } from "effect"
import { startConnector, startProxy } from "../../examples/demo/serverProcess.ts"
import { type NativeRequest, startNative } from "../support/nativeUpstream.ts"
import { type Agent, AGENTS, UNUSED_KEY } from "./agents.ts"
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
const run = async (agent: Agent, folder: string, url: string): Promise<Ran> => {
  const home = join(folder, `home-${agent.command}`)
  const work = join(home, "work")
  mkdirSync(work, { recursive: true })
  for (const [path, content] of Object.entries(agent.files(url))) {
    mkdirSync(dirname(join(home, path)), { recursive: true })
    writeFileSync(join(home, path), content)
  }
  const child = spawn(join(folder, "node_modules/.bin", agent.command), agent.args(TASK), {
    cwd: work,
    env: { PATH: process.env["PATH"], HOME: home, NO_COLOR: "1", ...agent.env(url) },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: PATIENCE_MS,
    killSignal: "SIGKILL",
  })
  const output = Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = await once(child, "exit")
  return { code: code === null ? null : Number(code), output: (await output).join("\n"), written: writtenIn(work) }
}

/** What is wrong with a run, and with what the vendor was asked meanwhile. */
const problemsOf = (agent: Agent, ran: Ran, requests: ReadonlyArray<NativeRequest>): ReadonlyArray<string> => {
  const turns = requests.filter(({ path }) => path.split("?")[0] === agent.path)
  const sent = JSON.stringify(requests.map(({ body, headers }) => ({ body, headers })))
  return [
    ...(ran.code === 0 ? [] : [`exit code ${ran.code}`]),
    ...(ran.written === "sealed" ? [] : [`its tool wrote ${ran.written}`]),
    ...(ran.output.includes(DONE) ? [] : ["it does not say what the model said last"]),
    ...(turns.length >= 2 ? [] : [`${turns.length} turns over ${agent.path}`]),
    ...(sent.includes(UNUSED_KEY) ? ["the provider saw the agent's own key"] : []),
    ...(requests.every(({ headers }) => JSON.stringify(headers).includes(OPERATOR_KEY))
      ? []
      : ["a request without the operator's key"]),
  ]
}

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
  const proxy = yield* Effect.acquireRelease(
    Effect.promise(() =>
      startProxy({
        PROVIDER1_API_KEY: OPERATOR_KEY,
        PROVIDER1_BASE_URL: `${native.url}/v1`,
        PROVIDER3_API_KEY: OPERATOR_KEY,
        PROVIDER3_BASE_URL: native.url,
      }),
    ),
    ({ stop }) => Effect.promise(stop),
  )
  const connector = yield* Effect.acquireRelease(
    Effect.promise(() => startConnector(proxy)),
    ({ stop }) => Effect.promise(stop),
  )
  let failures = 0
  for (const agent of agents) {
    const before = native.requests.length
    const started = performance.now()
    const ran = yield* Effect.promise(() => run(agent, folder, connector.url))
    const requests = native.requests.slice(before)
    const problems = problemsOf(agent, ran, requests)
    if (problems.length > 0) failures++
    const seconds = ((performance.now() - started) / 1000).toFixed(1)
    const what = `${agent.name} (${agent.spec}), ${requests.length} requests, ${seconds} s`
    console.log(problems.length === 0 ? `✓ ${what}` : `✗ ${what}: ${problems.join("; ")}\n${ran.output}`)
  }
  return failures
})

process.exitCode = (await Effect.runPromise(Effect.scoped(program))) === 0 ? 0 : 1
