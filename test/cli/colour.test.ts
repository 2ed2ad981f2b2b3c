/** Colour is for terminals, each stream by itself. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { databaseUrl, startGateway, tokenFor } from "../support/gateway.ts"
import { FakeUpstream } from "../support/FakeUpstream.ts"
import { run } from "../support/processes.ts"
import { startProxy } from "../support/proxy.ts"

const AS_TERMINAL = new URL("./asTerminal.ts", import.meta.url).pathname
const ESCAPE = "\u001b["

/** Returns the output of a command if one of its streams is a terminal. */
const printed = Effect.fnUntraced(function* (
  terminal: "stdout" | "stderr",
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {},
) {
  const running = yield* run(args, { env: { ...env, TERMINAL: terminal, NODE_OPTIONS: `--import ${AS_TERMINAL}` } })
  const code = yield* Effect.promise(() => running.exit)
  const [stdout, stderr] = [running.stdout.join("\n"), running.stderr.join("\n")]
  assert.strictEqual(code, 0, stderr)
  return { stdout, stderr }
})

describe("colour", () => {
  it.live("is used on a terminal, and never in a redirected stream", () =>
    Effect.gen(function* () {
      const { kid, url } = yield* startProxy()
      const chat = ["chat", "--proxy", url, "--pin", kid, "Hello"]
      const gateway = yield* startGateway(yield* databaseUrl({ kind: "sqlite" }))
      const task = ["run", "Hello", "--gateway", gateway.url]
      const env = { SEALGATE_TOKEN: yield* tokenFor("alice") }

      for (const { stderr, stdout } of [yield* printed("stdout", chat), yield* printed("stdout", task, env)]) {
        assert.notStrictEqual(stderr, "")
        assert.notInclude(stderr, ESCAPE)
        assert.include(stdout, "Hello")
      }
      for (const { stderr, stdout } of [yield* printed("stderr", chat), yield* printed("stderr", task, env)]) {
        assert.include(stderr, ESCAPE)
        assert.notInclude(stdout, ESCAPE)
      }
    }),
  )
})

describe("a task in the direct mode", () => {
  it.live("shows its answer once, on a terminal while it is written", () =>
    Effect.gen(function* () {
      const upstream = yield* FakeUpstream.make()
      upstream.always({ text: ["One ", "seal\u001b[2J ", "swims."], delivery: { gap: 200 } })
      const gateway = yield* startGateway(yield* databaseUrl({ kind: "sqlite" }), {}, upstream)
      const task = ["run", "Hello", "--mode", "direct", "--gateway", gateway.url]
      const env = { SEALGATE_TOKEN: yield* tokenFor("alice") }
      for (const terminal of ["stdout", "stderr"] as const) {
        const { stdout } = yield* printed(terminal, task, env)
        assert.strictEqual(stdout.split("One seal[2J swims.").length, 2, stdout)
        assert.strictEqual(stdout.includes("swims.\n\n"), terminal === "stderr", stdout)
        assert.include(stdout, "Verdict: unchecked")
      }
    }),
  )
})
