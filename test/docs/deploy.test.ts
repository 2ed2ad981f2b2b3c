/** Checks the deployment files against the product. */
import { execFile, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Duration, Effect } from "effect"
import { OVERTIME } from "../../src/cli/runUntilSignal.ts"
import { gatewaySettings } from "../../src/layers/config/gatewaySettings.ts"
import { proxySettings } from "../../src/layers/config/proxySettings.ts"
import { decodeSettings } from "../../src/layers/config/Setting.ts"
import { SECRET } from "../support/gateway.ts"
import { run, runProxy } from "../support/processes.ts"
import { temporaryFolder } from "../support/proxy.ts"

const linesOf = (path: string): ReadonlyArray<string> =>
  readFileSync(new URL(`../../${path}`, import.meta.url), "utf8")
    .replaceAll("\\\n", "")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))

describe("Dockerfile", () => {
  const dockerfile = linesOf("Dockerfile")
  const argumentsOf = (instruction: string) =>
    dockerfile.flatMap((line) =>
      line.trim().startsWith(`${instruction} `) ? [line.trim().slice(instruction.length + 1)] : [],
    )

  it("copies exactly the existing paths that .dockerignore admits", () => {
    const sent = linesOf(".dockerignore").flatMap((line) => (line.startsWith("!") ? [line.slice(1)] : []))
    const copied = argumentsOf("COPY")
      .filter((text) => !text.startsWith("--from"))
      .flatMap((text) => text.split(" ").slice(0, -1))
    assert.sameMembers([...new Set(copied)], sent)
    for (const path of copied) assert.isTrue(existsSync(new URL(`../../${path}`, import.meta.url)), path)
  })

  it("runs the package's command as an unprivileged user, and stops it with SIGTERM", () => {
    const { bin } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))
    assert.deepStrictEqual(
      argumentsOf("ENTRYPOINT").map((text) => JSON.parse(text)),
      [["node", "--disable-sigusr1", join("/app", bin.sealgate)]],
    )
    assert.deepStrictEqual(argumentsOf("USER"), ["node"])
    assert.deepStrictEqual(argumentsOf("STOPSIGNAL"), ["SIGTERM"])
  })

  it.live("checks the health of a running server, and fails without one", () =>
    Effect.gen(function* () {
      const [, command = ""] = /HEALTHCHECK .*?CMD (\[.*\])/.exec(dockerfile.join("\n")) ?? []
      const [, ...args] = JSON.parse(command) as ReadonlyArray<string>
      const healthOf = (port: string) =>
        Effect.promise(
          () =>
            new Promise<number>((resolve) => {
              const child = execFile(process.execPath, args, { env: { PORT: port } })
              child.once("close", (code) => resolve(code ?? -1))
            }),
        )
      const proxy = yield* runProxy()
      const { port } = new URL(proxy.url)
      assert.strictEqual(yield* healthOf(port), 0)
      proxy.kill("SIGTERM")
      assert.strictEqual(yield* Effect.promise(() => proxy.exit), 0)
      assert.strictEqual(yield* healthOf(port), 1)
    }),
  )
})

const UNITS = [
  { command: "proxy", settings: proxySettings },
  { command: "gateway", settings: gatewaySettings },
] as const

const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0
if (!hasSystemd) console.warn("! systemd-analyze is not installed: units are not verified with it")

describe.each(UNITS)("the systemd unit of the $command", ({ command, settings }) => {
  const name = `deploy/sealgate-${command}.service`
  const unit = linesOf(name)
  const valuesOf = (key: string) =>
    unit.flatMap((line) => (line.startsWith(`${key}=`) ? [line.slice(key.length + 1)] : []))
  const environment = valuesOf("Environment").map((line) => line.split("=", 2))

  it("allows a shutdown its longest time", () => {
    const { shutdownGrace } = Effect.runSync(
      decodeSettings({ shutdownGrace: settings.shutdownGrace }).pipe(
        Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord({})),
      ),
    )
    const longest = Duration.toSeconds(Duration.sum(shutdownGrace, OVERTIME))
    assert.isAbove(Number(valuesOf("TimeoutStopSec")[0]), longest)
    assert.deepStrictEqual(valuesOf("KillSignal"), ["SIGTERM"])
  })

  it("is restarted after any number of failures", () => {
    const [, inUnit = ""] = /^\[Unit\]\n([^[]*)/m.exec(unit.join("\n")) ?? []
    assert.include(inUnit.split("\n"), "StartLimitIntervalSec=0")
    assert.deepStrictEqual([valuesOf("Restart"), valuesOf("RestartSec")], [["on-failure"], ["3"]])
  })

  it.skipIf(!hasSystemd)("passes systemd-analyze", () => {
    const { stderr } = spawnSync("systemd-analyze", ["verify", name], { encoding: "utf8" })
    const complaints = stderr
      .split("\n")
      .filter((line) => line.includes(".service:") && !line.includes("is not executable"))
    assert.deepStrictEqual(complaints, [])
  })

  // Even root cannot write files in /proc.
  it.live.skipIf(!existsSync("/proc/self"))(
    "starts with its environment in its state folder, or in a read-only folder",
    () =>
      Effect.gen(function* () {
        const state = yield* temporaryFolder
        const env = Object.fromEntries(environment.map(([name = "", value = ""]) => [name, value.replace("%S", state)]))
        const [folder = "/proc"] = valuesOf("WorkingDirectory").map((path) => path.replace("%S", state))
        mkdirSync(folder, { recursive: true })
        const server = yield* run([command], {
          folder,
          env: { ...env, PORT: "0", HOST: "127.0.0.1", JWT_SECRET: SECRET },
        })
        yield* Effect.promise(() => server.line((line) => (line.includes("listening on") ? true : undefined)))
        server.kill("SIGTERM")
        assert.strictEqual(yield* Effect.promise(() => server.exit), 0)
      }),
  )
})
