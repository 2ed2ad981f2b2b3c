/** `npm run demo`: runs to its end, and what it started is gone with it, also if it is cut short. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { text } from "node:stream/consumers"
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

/** Waits until nothing listens there. */
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
  it.live("ends well after its agent has called the calculator", () =>
    Effect.gen(function* () {
      const child = yield* demo
      const [output, errors, exit] = yield* Effect.promise(() =>
        Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]),
      )
      assert.deepStrictEqual({ errors, exit }, { errors: "", exit: [0, null] })
      const said = output.replaceAll(/ +/g, " ")
      assert.include(
        said,
        'it calls calc__multiply({"a":48765,"b":1234})\n and gets 60176010\n answer It is 60,176,010.',
      )
      const urls = [...output.matchAll(/listens on\s+(http:\S+)/g)].map(([, url = ""]) => url)
      assert.strictEqual(urls.length, 2)
      yield* Effect.promise(() => Promise.all(urls.map(gone)))
    }),
  )

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
