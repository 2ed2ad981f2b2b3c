/** A proxy in a process of its own, as an operator would run it, on a free port and with the built-in echo. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"

export interface RunningProxy {
  readonly url: string
  /** What clients pin, as the operator read it from the proxy's first lines. */
  readonly kid: string
  /** Sends SIGTERM and returns the exit code. */
  readonly stop: () => Promise<number>
}

const COMMAND = new URL("../../src/cli/main.ts", import.meta.url).pathname

export const startProxy = async (): Promise<RunningProxy> => {
  const folder = await mkdtemp(join(tmpdir(), "sealgate-demo-"))
  const child = spawn(process.execPath, [COMMAND, "proxy"], {
    cwd: folder,
    // Nothing of the caller's environment: no provider keys, so the echo serves.
    env: { PATH: process.env["PATH"], PORT: "0", HOST: "127.0.0.1", LOG_FORMAT: "json" },
    stdio: ["ignore", "pipe", "inherit"],
  })
  let url: string | undefined
  let kid: string | undefined
  for await (const text of createInterface(child.stdout)) {
    const { message } = JSON.parse(text) as { readonly message: unknown }
    url ??= /listening on (\S+)/.exec(String(message))?.[1]
    kid ??= /identity to pin: (\S+)/.exec(String(message))?.[1]
    if (url !== undefined && kid !== undefined) break
  }
  if (url === undefined || kid === undefined) throw new Error("the proxy did not start")
  child.stdout.resume()
  return {
    url: `http://${url}`,
    kid,
    stop: async () => {
      const exited = once(child, "exit")
      child.kill("SIGTERM")
      const [code] = await exited
      await rm(folder, { recursive: true, force: true })
      return Number(code)
    },
  }
}
