/** Starts the servers as separate processes on free ports, as an operator would. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { COMPILE_CACHE } from "../../scripts/paths.ts"

const COMMAND = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url))
const ENDS_WITH_PARENT = new URL("./endsWithParent.ts", import.meta.url).href

interface Started {
  /** The first capture of each pattern, in the order of the patterns. */
  readonly found: ReadonlyArray<string>
  /** Sends SIGTERM and returns the exit code. */
  readonly stop: () => Promise<number>
}

/** Starts `sealgate ...args` in an empty folder and waits until its output matches every pattern. */
const start = async (
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>>,
  patterns: ReadonlyArray<RegExp>,
): Promise<Started> => {
  const folder = await mkdtemp(join(tmpdir(), "sealgate-demo-"))
  const child = spawn(process.execPath, ["--import", ENDS_WITH_PARENT, COMMAND, ...args], {
    cwd: folder,
    // A clean environment, so that no provider key of the caller is used.
    env: {
      PATH: process.env["PATH"],
      // Compiling the servers anew took half of the time of the demo.
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      PORT: "0",
      HOST: "127.0.0.1",
      LOG_FORMAT: "json",
      ...env,
    },
    stdio: ["pipe", "pipe", "inherit"],
  })
  const exited = once(child, "exit")
  const found: Array<string | undefined> = patterns.map(() => undefined)
  for await (const text of createInterface(child.stdout)) {
    patterns.forEach((pattern, i) => (found[i] ??= pattern.exec(text)?.[1]))
    if (found.every((capture) => capture !== undefined)) break
  }
  child.stdout.resume()
  const captures = found.filter((capture) => capture !== undefined)
  if (captures.length < patterns.length) throw new Error(`sealgate ${args.join(" ")} did not start`)
  return {
    found: captures,
    stop: async () => {
      child.kill("SIGTERM")
      const [code] = await exited
      await rm(folder, { recursive: true, force: true })
      return Number(code)
    },
  }
}

/** Starts a sealed proxy, by default with the built-in echo. `kid` is the pin, read from its output. */
export const startProxy = async (env: Readonly<Record<string, string>> = {}) => {
  const { found, stop } = await start(["proxy"], env, [/listening on ([\d.:]+)/, /identity to pin: ([\w-]+)/])
  return { url: `http://${found[0]}`, kid: found[1] ?? "", stop }
}

/** Starts a connector that seals to a proxy. `url` is the base URL without `/v1`. */
export const startConnector = async (
  proxy: { readonly url: string; readonly kid: string },
  args: ReadonlyArray<string> = [],
) => {
  const env = { SEALGATE_PROXY: proxy.url, SEALGATE_PIN: proxy.kid }
  const { found, stop } = await start(["connect", "--port", "0", ...args], env, [/listening on (http:[\d.:/]+)\/v1/])
  return { url: found[0] ?? "", stop }
}

/** Starts an agent gateway in development mode. `token` is the admin token that it prints. */
export const startGateway = async (env: Readonly<Record<string, string>>) => {
  const { found, stop } = await start(["gateway", "--dev"], env, [
    /listening on (http:[^"\s]+)/,
    /SEALGATE_TOKEN=(\S+)/,
  ])
  return { url: found[0] ?? "", token: found[1] ?? "", stop }
}
