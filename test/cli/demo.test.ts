/** `npm run demo`, cut short in every way: what it started is gone with it. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const ROOT = new URL("../..", import.meta.url).pathname

const demo = Effect.acquireRelease(
  Effect.sync(() =>
    spawn(process.execPath, ["--conditions=@sealgate/source", "examples/demo.ts"], {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "pipe"],
    }),
  ),
  (child) => Effect.sync(() => child.kill("SIGKILL")),
)

/** Where the demo's proxy listens, as soon as it says so. */
const proxyOf = async (child: ChildProcess): Promise<string> => {
  if (child.stdout === null) throw new Error("it has no output")
  const lines = createInterface(child.stdout)
  for await (const line of lines) {
    const url = /listens on\s+(http:\S+)/.exec(line)?.[1]
    if (url === undefined) continue
    return url
  }
  throw new Error("it started no proxy")
}

/** Waits until nobody listens there any more. */
const gone = async (url: string): Promise<void> => {
  while (
    await fetch(`${url}/health`).then(
      () => true,
      () => false,
    )
  )
    await new Promise((done) => setTimeout(done, 20))
}

describe("the demo", () => {
  it.live.each(["SIGTERM", "SIGINT", "SIGKILL"] as const)("leaves nothing behind after %s", (signal) =>
    Effect.gen(function* () {
      const child = yield* demo
      yield* Effect.promise(async () => {
        const url = await proxyOf(child)
        child.kill(signal)
        await gone(url)
      })
    }),
  )

  it.live("ends quietly when its reader closes the pipe, and leaves no processes", () =>
    Effect.gen(function* () {
      const child = yield* demo
      let errors = ""
      child.stderr.on("data", (piece) => (errors += String(piece)))
      yield* Effect.promise(async () => {
        const exited = once(child, "exit")
        const url = await proxyOf(child)
        child.stdout.destroy()
        assert.deepStrictEqual(await exited, [0, null])
        await gone(url)
      })
      assert.strictEqual(errors, "")
    }),
  )
})
