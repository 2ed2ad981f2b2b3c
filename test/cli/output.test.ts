/** Whether what a program prints arrives, and that a reader who does not take it holds nothing up. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, openSync } from "node:fs"
import { createInterface } from "node:readline"
import { Readable } from "node:stream"
import { text } from "node:stream/consumers"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const PRINTS_MUCH = new URL("./printsMuch.ts", import.meta.url).pathname
/** A device that is always full. */
const FULL = "/dev/full"

/** A program whose standard output nobody reads yet. */
const started = Effect.fnUntraced(function* (args: ReadonlyArray<string>, stdout: "pipe" | number = "pipe") {
  const child = spawn(process.execPath, [PRINTS_MUCH, ...args], { stdio: ["pipe", stdout, "pipe"] })
  yield* Effect.addFinalizer(() => Effect.sync(() => child.kill("SIGKILL")))
  const { stderr } = child
  if (stderr === null) throw new Error("standard error is a pipe")
  const lines = createInterface(stderr)
  const said: Array<string> = []
  const printed = new Promise<void>((resolve) => {
    lines.on("line", (line) => {
      said.push(line)
      if (line === "printed") resolve()
    })
  })
  const closed = once(lines, "close")
  const exit = once(child, "exit").then(([code, signal]: ReadonlyArray<unknown>) => code ?? signal)
  yield* Effect.promise(() => printed)
  return {
    child,
    exit: Effect.promise(() => exit),
    said: Effect.as(
      Effect.promise(() => closed),
      said,
    ),
  }
})

describe("the output of a command", () => {
  it.live("reaches a slow reader completely", () =>
    Effect.gen(function* () {
      const { child, exit } = yield* started([])
      const read = yield* Effect.promise(() => text(child.stdout ?? Readable.from([])))
      assert.strictEqual(read.length, "begin\n".length + 2_000_000 + "\nend\n".length)
      assert.match(read, /\nend\n$/)
      assert.strictEqual(yield* exit, 0)
    }),
  )

  it.live("may be closed by its reader without failing the command", () =>
    Effect.gen(function* () {
      const output = yield* started(["chatty"])
      output.child.stdout?.destroy()
      output.child.stdin?.write("go on")
      assert.strictEqual(yield* output.exit, 0)
      assert.deepStrictEqual(yield* output.said, ["printed", "more"])

      const both = yield* started(["chatty"])
      both.child.stdout?.destroy()
      both.child.stderr?.destroy()
      both.child.stdin?.write("go on")
      assert.strictEqual(yield* both.exit, 0)
    }),
  )

  it.live("does not delay a signal: unread output is cut off and the exit code shows it", () =>
    Effect.gen(function* () {
      const { child, exit } = yield* started([])
      child.kill("SIGINT")
      assert.strictEqual(yield* exit, 130)
    }),
  )

  it.live.skipIf(!existsSync(FULL))("fails the command if it could not be written", () =>
    Effect.gen(function* () {
      const { exit, said } = yield* started([], openSync(FULL, "w"))
      assert.strictEqual(yield* exit, 1)
      assert.match((yield* said).join("\n"), /could not be written: the disk is full\./)
    }),
  )
})

describe("the output of a server", () => {
  it.live("delays neither shutdown nor a second signal if it is not read", () =>
    Effect.gen(function* () {
      const orderly = yield* started(["server"])
      orderly.child.kill("SIGTERM")
      assert.strictEqual(yield* orderly.exit, 0)

      const stuck = yield* started(["server", "never"])
      stuck.child.kill("SIGTERM")
      stuck.child.kill("SIGINT")
      assert.strictEqual(yield* stuck.exit, 130)
    }),
  )
})
