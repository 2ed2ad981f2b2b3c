import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { defaultUpstreamSettings } from "../../../src/services/upstream/UpstreamSettings.ts"
import { ask, fails, hang, says, scripted, settingsWith, upstreamOf, upstreamSaying, wait } from "./ScriptedProvider.ts"

const small = { bulkhead: { calls: 2, waiting: 1, maxWait: Duration.seconds(2) } }

describe("a bulkhead", () => {
  it.effect("limits concurrent calls, and serves waiting ones as places become free", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* upstreamSaying([wait(1_000), ...says("ok")], small)
      const crowd = yield* Effect.forkChild(
        Effect.all(
          Array.from({ length: 3 }, () => upstream.complete(ask())),
          { concurrency: "unbounded" },
        ),
      )
      yield* TestClock.adjust("999 millis")
      assert.strictEqual(provider.calls.length, 2)
      yield* TestClock.adjust("1100 millis")
      yield* Fiber.join(crowd)
      assert.deepStrictEqual(
        provider.calls.map(({ at }) => at),
        [0, 0, 1_000],
      )
    }),
  )

  it.effect("that is full leads to the next target, or to `overloaded` if there is none", () =>
    Effect.gen(function* () {
      const [first, second] = [scripted("provider1"), scripted("provider2")]
      first.always([hang])
      const upstream = yield* upstreamOf([first, second], small)
      for (let i = 0; i < 3; i++) yield* Effect.forkChild(upstream.complete(ask()), { startImmediately: true })
      const { attempts, served } = yield* upstream.complete(ask())
      assert.strictEqual(served.provider, "provider2")
      assert.deepStrictEqual(
        attempts.map(({ cause, provider }) => [provider, cause]),
        [["provider2", "failover"]],
      )
      const error = yield* Effect.flip(upstream.complete(ask({ provider: "provider1" })))
      assert.strictEqual(error.code, "overloaded")
      assert.strictEqual(error.status, 503)
      assert.strictEqual(first.calls.length, 2)
    }),
  )

  it.effect("limits how long a call waits, and has a place again for each that waited in vain", () =>
    Effect.gen(function* () {
      const { upstream } = yield* upstreamSaying([hang], small)
      for (let i = 0; i < 2; i++) yield* Effect.forkChild(upstream.complete(ask()), { startImmediately: true })
      for (let round = 0; round < 5; round++) {
        const waiting = yield* Effect.forkChild(Effect.flip(upstream.complete(ask())), { startImmediately: true })
        yield* TestClock.adjust("1999 millis")
        assert.isUndefined(waiting.pollUnsafe(), `in round ${round}`)
        yield* TestClock.adjust("1 millis")
        assert.strictEqual((yield* Fiber.join(waiting)).code, "overloaded")
      }
    }),
  )

  it.effect("that is full does not count against the target's health", () =>
    Effect.gen(function* () {
      const { upstream } = yield* upstreamSaying([hang], small)
      for (let i = 0; i < 3; i++) yield* Effect.forkChild(upstream.complete(ask()), { startImmediately: true })
      for (let i = 0; i < 10; i++) yield* Effect.flip(upstream.complete(ask()))
      const [status] = yield* upstream.status
      assert.strictEqual(status?.circuit, "closed")
    }),
  )

  it.effect("that is full does not count as a success, neither for consecutive failures nor for a probe", () =>
    Effect.gen(function* () {
      const provider = scripted("provider1")
      const upstream = yield* upstreamOf([provider], {
        bulkhead: { calls: 1, waiting: 0 },
        retry: { times: 0 },
        circuit: { failures: 2 },
      })
      const fail = Effect.suspend(() => {
        provider.script([fails("unavailable")])
        return Effect.flip(upstream.complete(ask()))
      })
      const circuit = Effect.map(upstream.status, ([status]) => status?.circuit)
      /** One call more than there are places; a call of another model holds the only place. */
      const turnedAway = Effect.gen(function* () {
        provider.script([hang])
        const other = yield* Effect.forkChild(upstream.complete(ask({ model: "gpt-5" })), { startImmediately: true })
        assert.strictEqual((yield* Effect.flip(upstream.complete(ask()))).code, "overloaded")
        yield* Fiber.interrupt(other)
      })
      yield* fail
      yield* turnedAway
      assert.strictEqual(yield* circuit, "closed")
      yield* fail
      const model = Effect.map(upstream.status, ([status]) =>
        status?.targets.find(({ model }) => model === "provider1-model"),
      )
      assert.strictEqual((yield* model)?.circuit, "open")
      yield* TestClock.adjust("1 minute")
      yield* turnedAway
      assert.strictEqual((yield* model)?.circuit, "half-open")
    }),
  )

  it.effect("releases the places of callers that go away, waiting ones included", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* upstreamSaying([hang], small)
      for (let round = 0; round < 5; round++) {
        const fibers = []
        for (let i = 0; i < 3; i++) {
          fibers.push(yield* Effect.forkChild(upstream.complete(ask()), { startImmediately: true }))
        }
        yield* TestClock.adjust("1 second")
        yield* Fiber.interruptAll(fibers)
      }
      // Each takes a while, so that all three are there at once.
      provider.always([wait(1_000), ...says("free")])
      const answers = yield* Effect.forkChild(
        Effect.all(
          Array.from({ length: 3 }, () => upstream.complete(ask())),
          { concurrency: "unbounded" },
        ),
      )
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* Fiber.join(answers)).length, 3)
      assert.isTrue(provider.calls.slice(0, 10).every(({ ended }) => ended === "interrupted"))
    }),
  )

  it.effect("can be resized while calls are in flight", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* upstreamSaying([hang], small)
      for (let i = 0; i < 3; i++) yield* Effect.forkChild(upstream.complete(ask()), { startImmediately: true })
      assert.strictEqual(provider.calls.length, 2)
      yield* upstream.configure(settingsWith({ bulkhead: { ...defaultUpstreamSettings.bulkhead, calls: 3 } }))
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(provider.calls.length, 3)
      yield* upstream.configure(settingsWith({ bulkhead: { calls: 4, waiting: 0 } }))
      yield* Effect.forkChild(upstream.complete(ask()), { startImmediately: true })
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(provider.calls.length, 4)
      assert.strictEqual((yield* Effect.flip(upstream.complete(ask()))).code, "overloaded")
    }),
  )
})
