/** Shared by the tests of the deployment files: the servers and their units. */
import { spawnSync } from "node:child_process"
import { assert } from "@effect/vitest"
import { ConfigProvider, Duration, Effect } from "effect"
import { OVERTIME } from "../../src/cli/runUntilSignal.ts"
import { gatewaySettings } from "../../src/layers/config/gatewaySettings.ts"
import { proxySettings } from "../../src/layers/config/proxySettings.ts"
import { decodeSettings } from "../../src/layers/config/Setting.ts"
import { SECRET } from "../support/gateway.ts"
import { run, type RunOptions } from "../support/processes.ts"

export const SERVERS = [
  { command: "proxy", settings: proxySettings, port: 3001, operatorPort: 4001 },
  { command: "gateway", settings: gatewaySettings, port: 3000, operatorPort: 4000 },
] as const

const { shutdownGrace } = Effect.runSync(
  decodeSettings({ shutdownGrace: proxySettings.shutdownGrace }).pipe(
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord({})),
  ),
)

/** Longest duration of a shutdown, in seconds, with the default SHUTDOWN_GRACE, which both servers have. */
export const LONGEST_SHUTDOWN = Duration.toSeconds(Duration.sum(shutdownGrace, OVERTIME))

/** Starts a server on a free port, and stops it in order. */
export const startsAndStops = Effect.fnUntraced(function* (args: ReadonlyArray<string>, options: RunOptions = {}) {
  const env = { ...options.env, PORT: "0", HOST: "127.0.0.1", JWT_SECRET: SECRET }
  const server = yield* run(args, { ...options, env })
  yield* Effect.promise(() => server.line((line) => (line.includes("listening on") ? true : undefined)))
  server.kill("SIGTERM")
  assert.strictEqual(yield* Effect.promise(() => server.exit), 0)
})

export const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0
if (!hasSystemd) console.warn("! systemd-analyze is not installed: units are not verified with it")

/** The complaints of `systemd-analyze` about our units. Ignores that the command is not installed on this machine. */
export const complaintsOf = (unit: string, env: Readonly<Record<string, string>> = {}): ReadonlyArray<string> => {
  const options = { encoding: "utf8", env: { ...process.env, ...env } } as const
  return spawnSync("systemd-analyze", ["verify", unit], options)
    .stderr.split("\n")
    .filter((line) => line.includes("sealgate-") && !line.includes("is not executable"))
}
