/** Colour is for terminals, each stream by itself. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { databaseUrl, startGateway, tokenFor } from "../support/gateway.ts"
import { run } from "../support/processes.ts"
import { startProxy } from "../support/proxy.ts"

const AS_TERMINAL = new URL("./asTerminal.ts", import.meta.url).pathname
const ESCAPE = "\u001b["

/** What a command prints when one of its streams is a terminal. */
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
