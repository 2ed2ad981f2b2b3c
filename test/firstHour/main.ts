/**
 * `npm run test:first-hour`: does everything wrong that people do in their first hour, as they do it, and holds what they
 * are told: exit code, words, no stack, no secret, no words of a library.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { startGateway, startProxy } from "../../examples/demo/serverProcess.ts"
import { type Mistake, MISTAKES, SECRET } from "./mistakes.ts"

await import("../../scripts/buildCommand.ts")

const COMMAND = new URL("../../dist/cli/main.js", import.meta.url).pathname
/** Nothing here waits for anybody; a server that starts after all is a mistake that was not seen. */
const PATIENCE_MS = 30_000
const AT_ONCE = 2

/** What is never shown: stacks, words of the system, of Node and of libraries, and what is called a fault of ours. */
const NEVER = [
  /^\s+at .+[:(]/m,
  /\b(ECONN\w+|ENOENT|ENOTFOUND|EADDR\w+|EACCES|EISDIR|ERR_[A-Z_]+)\b/,
  /getaddrinfo|fetch failed|is an invalid header value|SSL routines|SchemaError|TypeError|node:internal|undici|\bEffect\b/,
  /This is a bug in sealgate/,
  new RegExp(SECRET),
]

/** A port that nobody listens on, because somebody just did. */
const closedPort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  return typeof address === "object" && address !== null ? address.port : 0
}

const listening = async (): Promise<number> => {
  const server = createServer((_request, response) => response.end("Hello, I am something else."))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  server.unref()
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}

const proxy = await startProxy()
const gateway = await startGateway({})
/** One serves callers that it knows, the other calls providers through a network proxy that is not there. */
const strict = await startProxy({ JWT_SECRET: SECRET.repeat(2) })
const unreachable = await startProxy({
  PROVIDER1_API_KEY: SECRET,
  HTTPS_PROXY: `http://127.0.0.1:${await closedPort()}`,
})
const [other, taken] = [await listening(), await listening()]
const WORDS: Readonly<Record<string, string>> = {
  proxy: proxy.url,
  pin: proxy.kid,
  strict: strict.url,
  strictPin: strict.kid,
  unreachable: unreachable.url,
  unreachablePin: unreachable.kid,
  gateway: gateway.url,
  token: gateway.token,
  other: `http://127.0.0.1:${other}`,
  otherTls: `https://127.0.0.1:${other}`,
  taken: String(taken),
  closed: `http://127.0.0.1:${await closedPort()}`,
  closedPort: String(await closedPort()),
}
const filled = (text: string): string => text.replaceAll(/\{(\w+)\}/g, (all, word: string) => WORDS[word] ?? all)

const textOf = async (child: ChildProcess): Promise<string> => {
  let text = ""
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (piece) => (text += String(piece)))
  await once(child, "close")
  return text
}

/** What is wrong with how one mistake is dealt with. */
const problemsOf = async ({
  args,
  code,
  env = {},
  files = {},
  says,
  stdin = "",
  unread = false,
}: Mistake): Promise<ReadonlyArray<string>> => {
  const folder = mkdtempSync(join(tmpdir(), "sealgate-first-hour-"))
  try {
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content, { mode: 0o600 })
    const child = spawn(process.execPath, [COMMAND, ...args.map(filled)], {
      cwd: folder,
      env: {
        PATH: process.env["PATH"],
        NO_COLOR: "1",
        ...Object.fromEntries(Object.entries(env).map(([name, value]) => [name, filled(value)])),
      },
      timeout: PATIENCE_MS,
      killSignal: "SIGKILL",
    })
    child.stdin.on("error", () => undefined).end(stdin)
    if (unread) child.stdout.destroy()
    const text = await textOf(child)
    return [
      ...(child.exitCode === code ? [] : [`exit code ${child.exitCode ?? child.signalCode} instead of ${code}`]),
      ...says
        .map(filled)
        .flatMap((part) => (text.replaceAll(/\s+/g, " ").includes(part) ? [] : [`does not say: ${part}`])),
      ...NEVER.flatMap((pattern) => (pattern.test(text) ? [`shows ${pattern.source}`] : [])),
    ].map((problem, i) => (i === 0 ? `${problem}\n${text.replaceAll(/^/gm, "      | ")}` : problem))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Only the rows whose command line has this text, such as `npm run test:first-hour -- connect`. */
const only = process.argv[2] ?? ""
const chosen = MISTAKES.filter(({ args }) => args.join(" ").includes(only))

let failures = 0
const waiting = chosen.values()
const walk = async (): Promise<void> => {
  for (const mistake of waiting) {
    const problems = await problemsOf(mistake)
    if (problems.length === 0) continue
    failures++
    console.log(`✗ sealgate ${mistake.args.join(" ")} ${JSON.stringify(mistake.env ?? {})}`)
    for (const problem of problems) console.log(`    ${problem}`)
  }
}
try {
  await Promise.all(Array.from({ length: AT_ONCE }, walk))
} finally {
  await Promise.all([proxy.stop(), strict.stop(), unreachable.stop(), gateway.stop()])
}
console.log(`${chosen.length - failures} of ${chosen.length} mistakes are told as they should be`)
process.exit(failures === 0 ? 0 : 1)
