/** Checks the deployment files against the product. */
import { execFile } from "node:child_process"
import { existsSync, mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SECRET } from "../support/gateway.ts"
import { run, runProxy } from "../support/processes.ts"
import { temporaryFolder } from "../support/proxy.ts"
import { complaintsOf, hasSystemd, LONGEST_SHUTDOWN, SERVERS, startsAndStops } from "./deployed.ts"

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

describe.each(SERVERS)("the systemd unit of the $command", ({ command }) => {
  const name = `deploy/sealgate-${command}.service`
  const unit = linesOf(name)
  const valuesOf = (key: string) =>
    unit.flatMap((line) => (line.startsWith(`${key}=`) ? [line.slice(key.length + 1)] : []))
  const environment = valuesOf("Environment").map((line) => line.split("=", 2))

  it("allows a shutdown its longest time", () => {
    assert.isAbove(Number(valuesOf("TimeoutStopSec")[0]), LONGEST_SHUTDOWN)
    assert.deepStrictEqual(valuesOf("KillSignal"), ["SIGTERM"])
  })

  it("is restarted after any number of failures", () => {
    const [, inUnit = ""] = /^\[Unit\]\n([^[]*)/m.exec(unit.join("\n")) ?? []
    assert.include(inUnit.split("\n"), "StartLimitIntervalSec=0")
    assert.deepStrictEqual([valuesOf("Restart"), valuesOf("RestartSec")], [["on-failure"], ["3"]])
  })

  it.live("is not restarted after a mistake in its settings", () =>
    Effect.gen(function* () {
      const server = yield* run([command], { env: { JWT_SECRET: SECRET, PORT: "http" } })
      const code = yield* Effect.promise(() => server.exit)
      assert.include(server.stderr.join("\n"), "PORT: expected a whole number")
      assert.deepStrictEqual(valuesOf("RestartPreventExitStatus"), [String(code)])
      assert.notStrictEqual(code, 1)
    }),
  )

  it.skipIf(!hasSystemd)("passes systemd-analyze", () => assert.deepStrictEqual(complaintsOf(name), []))

  // Even root cannot write files in /proc.
  it.live.skipIf(!existsSync("/proc/self"))(
    "starts with its environment in its state folder, or in a read-only folder",
    () =>
      Effect.gen(function* () {
        const state = yield* temporaryFolder
        const env = Object.fromEntries(environment.map(([name = "", value = ""]) => [name, value.replace("%S", state)]))
        const [folder = "/proc"] = valuesOf("WorkingDirectory").map((path) => path.replace("%S", state))
        mkdirSync(folder, { recursive: true })
        yield* startsAndStops([command], { folder, env })
      }),
  )
})
