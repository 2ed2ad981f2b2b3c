/**
 * `npm run test:first-hour`: makes the mistakes that people make in their first hour, and checks exit code and message: no
 * stack, no secret, no words of a library. With an argument, only the rows whose command line contains it.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { startGateway, startProxy } from "../../examples/demo/serverProcess.ts"
import { freePort } from "../support/freePort.ts"
import { type Mistake, MISTAKES, SECRET } from "./mistakes.ts"

await import("../../scripts/buildCommand.ts")

const COMMAND = new URL("../../dist/cli/main.js", import.meta.url).pathname
/** Time limit of one command. A server that starts has missed its mistake. */
const PATIENCE_MS = 30_000
const AT_ONCE = 2

/** Never shown: stacks, words of the system, of Node and of libraries, and the report of a bug. */
const NEVER = [
  /^\s+at .+[:(]/m,
  /\b(ECONN\w+|ENOENT|ENOTFOUND|EADDR\w+|EACCES|EISDIR|ERR_[A-Z_]+)\b/,
  /getaddrinfo|fetch failed|is an invalid header value|SSL routines|SchemaError|TypeError|node:internal|undici|\bEffect\b/,
  /This is a bug in sealgate/,
  new RegExp(SECRET),
]

/** Starts a server that is not sealgate. Returns its port. */
const listening = async (): Promise<string> => {
  const server = createServer((_request, response) => response.end("Hello, I am something else."))
  server.listen(0, "127.0.0.1").unref()
  await once(server, "listening")
  // `address()` is a string only for pipes.
  return String((server.address() as AddressInfo).port)
}

const proxy = await startProxy()
const gateway = await startGateway({})
/** The first serves only known callers, the second calls providers through a network proxy that does not exist. */
const strict = await startProxy({ JWT_SECRET: SECRET.repeat(2) })
const unreachable = await startProxy({
  PROVIDER1_API_KEY: SECRET,
  HTTPS_PROXY: `http://127.0.0.1:${await freePort()}`,
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
  taken,
  closed: `http://127.0.0.1:${await freePort()}`,
  closedPort: String(await freePort()),
}
const filled = (text: string): string => text.replaceAll(/\{(\w+)\}/g, (all, word: string) => WORDS[word] ?? all)

const textOf = async (child: ChildProcess): Promise<string> => {
  let text = ""
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (piece) => (text += String(piece)))
  await once(child, "close")
  return text
}

/** Makes one mistake. Returns how its report differs from the expected one. */
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
console.log(`${chosen.length - failures} of ${chosen.length} mistakes are reported as they should be`)
process.exit(failures === 0 ? 0 : 1)
