/** Exit codes of commands that a signal ends: what is not done never looks as if it were. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { answering } from "../support/answering.ts"
import { run } from "../support/processes.ts"
import { temporaryFolder } from "../support/proxy.ts"

const PIN = "A".repeat(43)

/** A server that never answers; `asked` resolves at its first request. */
const silentServer = Effect.gen(function* () {
  const asked = Promise.withResolvers<void>()
  const url = yield* answering(() => asked.resolve())
  return { url, asked: Effect.promise(() => asked.promise) }
})

/** Ends a command with `signal` while it waits for an answer. */
const ended = Effect.fnUntraced(function* (signal: NodeJS.Signals, command: (url: string) => ReadonlyArray<string>) {
  const { asked, url } = yield* silentServer
  const running = yield* run(command(url), { env: { SEALGATE_TOKEN: "x" } })
  yield* asked
  running.kill(signal)
  return { code: yield* Effect.promise(() => running.exit), stderr: running.stderr }
}, Effect.scoped)

describe("a command that a signal stops before its end", () => {
  it.live("exits with 130 for every command and signal", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "receipt.json")
      writeFileSync(file, JSON.stringify({ receipt: "a.b.c" }))
      const verify = (url: string) => ["verify", file, "--pin", PIN, "--keys", url]
      const cases: ReadonlyArray<readonly [NodeJS.Signals, (url: string) => ReadonlyArray<string>]> = [
        ["SIGINT", verify],
        ["SIGTERM", verify],
        ["SIGHUP", verify],
        ["SIGINT", (url) => ["doctor", "--proxy", url]],
        ["SIGINT", (url) => ["chat", "--proxy", url, "--pin", PIN, "Hello"]],
        ["SIGINT", (url) => ["agents", "--gateway", url]],
        ["SIGTERM", (url) => ["run", "x", "--gateway", url]],
      ]
      for (const [signal, command] of cases) {
        const { code, stderr } = yield* ended(signal, command)
        assert.deepStrictEqual([code, stderr], [130, []], `${signal} ${command("…").join(" ")}`)
      }
    }),
  )

  it.live("exits with 130 while it loads, too", () =>
    Effect.gen(function* () {
      const preload = new URL("./signalWhileLoading.ts", import.meta.url).pathname
      const running = yield* run(["verify", "x"], { env: { NODE_OPTIONS: `--import ${preload}` } })
      assert.strictEqual(yield* Effect.promise(() => running.exit), 130)
    }),
  )
})

describe("a server that Ctrl-C stops", () => {
  it.live("exits with 0 for every server", () =>
    Effect.gen(function* () {
      const env = { PORT: "0", HOST: "127.0.0.1", LOG_FORMAT: "json" }
      const empty = join(yield* temporaryFolder, "empty.env")
      writeFileSync(empty, "")
      for (const args of [
        ["proxy"],
        ["gateway", "--dev"],
        ["--config", empty, "proxy"],
        ["connect", "--proxy", "http://127.0.0.1:9", "--pin", PIN, "--port", "0", "--json"],
      ]) {
        const running = yield* run(args, { env })
        yield* Effect.promise(() => running.line((line) => /listening on/.exec(line)?.[0]))
        running.kill("SIGINT")
        assert.strictEqual(yield* Effect.promise(() => running.exit), 0, args[0])
      }
    }),
  )
})
