/** Effects of signals on a program that runs until it gets one. */
import { setTimeout } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { run, type Running } from "../support/processes.ts"

const SLOW_TO_CLOSE = new URL("./slowToClose.ts", import.meta.url).pathname

/** A program that takes so many milliseconds to close, may signal itself again, and gives up after so many seconds. */
const started = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
  const running = yield* run(args, { module: SLOW_TO_CLOSE })
  yield* said(running, "running")
  return running
})

const said = (running: Running, word: string) =>
  Effect.promise(() => running.line((line) => (line === word ? true : undefined)))

const exitOf = (running: Running) => Effect.promise(() => running.exit)

describe("a program that runs until a signal", () => {
  it.live(
    "treats an immediate repetition of a signal as one, because npm forwards what the terminal sends to every process",
    () =>
      Effect.gen(function* () {
        const running = yield* started("300", "again")
        running.kill("SIGINT")
        assert.strictEqual(yield* exitOf(running), 0)
        assert.include(running.stdout, "closed")
      }),
  )

  it.live("closes in order when its terminal closes", () =>
    Effect.gen(function* () {
      const running = yield* started("0")
      running.kill("SIGHUP")
      assert.strictEqual(yield* exitOf(running), 0)
      assert.include(running.stdout, "closed")
    }),
  )

  it.live("ends at once at another signal, or at the same signal some time later", () =>
    Effect.gen(function* () {
      const other = yield* started("never")
      other.kill("SIGTERM")
      yield* said(other, "closing")
      other.kill("SIGINT")
      assert.strictEqual(yield* exitOf(other), 130)
      assert.include(other.stdout, "exit hook")

      const later = yield* started("never")
      later.kill("SIGTERM")
      yield* said(later, "closing")
      // Longer than the second in which a signal counts once.
      yield* Effect.promise(() => setTimeout(1200))
      later.kill("SIGTERM")
      assert.strictEqual(yield* exitOf(later), 130)
      assert.notInclude(other.stdout, "closed")
    }),
  )

  it.live("exits with 1 if closing takes seconds longer than its grace period", () =>
    Effect.gen(function* () {
      const running = yield* started("never", "", "3")
      running.kill("SIGTERM")
      assert.strictEqual(yield* exitOf(running), 1)
      assert.match(running.stderr.join(), /did not end in time/)
      assert.include(running.stdout, "exit hook")
    }),
  )
})

describe("the sealgate command", () => {
  it.live("exits with 0 at a signal while it loads, as process 1 of a container must", () =>
    Effect.gen(function* () {
      const preload = new URL("./signalWhileLoading.ts", import.meta.url).pathname
      const running = yield* run(["proxy"], { env: { PORT: "0", NODE_OPTIONS: `--import ${preload}` } })
      assert.strictEqual(yield* exitOf(running), 0)
      assert.deepStrictEqual([...running.stdout, ...running.stderr], [])
    }),
  )
})
