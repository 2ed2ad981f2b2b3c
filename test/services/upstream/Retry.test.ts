import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { FailureKind } from "../../../src/domain/upstream/failures.ts"
import { ProviderFailure } from "../../../src/services/upstream/Provider.ts"
import { defaultUpstreamSettings } from "../../../src/services/upstream/UpstreamSettings.ts"
import {
  ask,
  fails,
  gaps,
  hang,
  JITTER_FLOOR,
  passingTime,
  says,
  scripted,
  timed,
  oneProvider,
  upstreamOf,
  upstreamSaying,
  wait,
} from "./ScriptedProvider.ts"
import { streamOf } from "../../support/streamed.ts"

const { base, cap, factor, maxRetryAfter } = defaultUpstreamSettings.retry
const floor = Duration.toMillis(base) * JITTER_FLOOR
const JITTER_CEILING = 2 - JITTER_FLOOR

describe("retry", () => {
  it.effect.each(["rate-limited", "unavailable", "unreachable", "truncated", "broken"] satisfies Array<FailureKind>)(
    "%s is tried at most twice more, with growing pauses",
    (kind) =>
      Effect.gen(function* () {
        const { provider, upstream } = yield* upstreamSaying([fails(kind)])
        yield* passingTime(Effect.flip(upstream.complete(ask())))
        assert.strictEqual(provider.calls.length, 3)
        gaps(provider).forEach((gap, index) => {
          const pause = Duration.toMillis(base) * factor ** index
          assert.isAtLeast(gap, Math.floor(pause * JITTER_FLOOR))
          assert.isAtMost(gap, Math.ceil(pause * JITTER_CEILING))
        })
      }),
  )

  it.effect.each([
    "timeout",
    "redirected",
    "garbage",
    "unfinished",
    "connect-timeout",
    "slow",
    "context-too-long",
    "too-large",
    "unsupported",
    "unauthorized",
    "unknown-model",
    "content-filtered",
    "invalid-request",
  ] satisfies Array<FailureKind>)("%s is not tried again", (kind) =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* upstreamSaying([fails(kind)])
      yield* passingTime(Effect.flip(upstream.complete(ask())))
      assert.strictEqual(provider.calls.length, 1)
    }),
  )

  it.effect("caps its delays, and jitters them", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* upstreamSaying([fails("unavailable")], { retry: { times: 12 } })
      yield* passingTime(Effect.flip(upstream.complete(ask())))
      assert.strictEqual(provider.calls.length, 13)
      assert.isAtMost(Math.max(...gaps(provider)), Duration.toMillis(cap) * JITTER_CEILING)
      assert.isAtLeast(Math.max(...gaps(provider)), Duration.toMillis(cap) * JITTER_FLOOR)
      assert.isAbove(new Set(gaps(provider).slice(-5)).size, 1)
    }),
  )
})

describe("Retry-After", () => {
  it.effect("is waited for on the same target, and never undercut", () =>
    Effect.gen(function* () {
      const [first, second] = [scripted("provider1"), scripted("provider2")]
      first.script([fails("rate-limited", { retryAfterMs: 7_000 })])
      const upstream = yield* upstreamOf([first, second])
      const { served } = yield* passingTime(upstream.complete(ask()))
      assert.strictEqual(served.provider, "provider1")
      assert.strictEqual(second.calls.length, 0)
      const [gap = 0] = gaps(first)
      assert.isAtLeast(gap, 7_000 + floor)
      assert.isAtMost(gap, 7_000 + Duration.toMillis(base) * JITTER_CEILING)
    }),
  )

  it.effect("of zero causes no tight loop", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* upstreamSaying([fails("rate-limited", { retryAfterMs: 0 })])
      yield* passingTime(Effect.flip(upstream.complete(ask())))
      assert.strictEqual(provider.calls.length, 3)
      assert.isAtLeast(Math.min(...gaps(provider)), floor)
    }),
  )

  it.effect("above the longest allowed pause leads to the next target at once", () =>
    Effect.gen(function* () {
      const [first, second] = [scripted("provider1"), scripted("provider2")]
      first.always([fails("rate-limited", { retryAfterMs: Duration.toMillis(maxRetryAfter) + 1 })])
      const upstream = yield* upstreamOf([first, second])
      const { exit, ms } = yield* timed(upstream.complete(ask()))
      assert.strictEqual((yield* exit).served.provider, "provider2")
      assert.strictEqual(first.calls.length, 1)
      assert.strictEqual(ms, 0)
    }),
  )

  it.effect.each([9_000, 8_000])("that reaches the deadline leads to the next target at once (%d ms)", (retryAfterMs) =>
    Effect.gen(function* () {
      const [first, second] = [scripted("provider1"), scripted("provider2")]
      first.always([wait(2_000), fails("rate-limited", { retryAfterMs })])
      const upstream = yield* upstreamOf([first, second], { timeouts: { total: Duration.seconds(10) } })
      const { exit, ms } = yield* timed(upstream.complete(ask()))
      assert.strictEqual((yield* exit).served.provider, "provider2")
      assert.strictEqual(ms, 2_000)
    }),
  )

  it.effect("that ends before the deadline is waited for, up to the longest allowed pause", () =>
    Effect.gen(function* () {
      const longest = Duration.toMillis(maxRetryAfter)
      for (const [retryAfterMs, total] of [
        [7_000, Duration.seconds(8)],
        [longest, Duration.minutes(1)],
      ] as const) {
        const [first, second] = [scripted("provider1"), scripted("provider2")]
        first.script([fails("rate-limited", { retryAfterMs })])
        const upstream = yield* upstreamOf([first, second], { timeouts: { total } })
        const { served } = yield* passingTime(upstream.complete(ask()))
        assert.strictEqual(served.provider, "provider1")
      }
    }),
  )
})

describe("time limits", () => {
  it.effect("a whole answer that is late is not retried, but asked of the next provider", () =>
    Effect.gen(function* () {
      const [first, second] = [scripted("provider1"), scripted("provider2")]
      first.always([hang])
      const upstream = yield* upstreamOf([first, second], { timeouts: { answer: Duration.seconds(30) } })
      const { exit, ms } = yield* timed(upstream.complete(ask()))
      assert.strictEqual((yield* exit).served.provider, "provider2")
      assert.strictEqual(first.calls.length, 1)
      assert.strictEqual(first.calls[0]?.ended, "interrupted")
      assert.strictEqual(ms, 30_000)
    }),
  )

  it.effect("for a whole answer include a longer first-token limit of its provider", () =>
    Effect.gen(function* () {
      const provider = { ...scripted("provider1"), firstToken: Duration.minutes(3) }
      provider.script([wait(179_000), ...says("thought over")])
      const upstream = yield* upstreamOf([provider])
      const { completion } = yield* passingTime(upstream.complete(ask()))
      assert.strictEqual(completion.choices[0]?.message.content, "thought over")
      provider.always([hang])
      assert.strictEqual((yield* timed(upstream.complete(ask()))).ms, 180_000)
    }),
  )

  it.effect("let a slow answer pass if it comes in time", () =>
    Effect.gen(function* () {
      const { provider, upstream } = yield* oneProvider()
      provider.script([wait(119_000), ...says("late")])
      const { completion } = yield* passingTime(upstream.complete(ask()))
      assert.strictEqual(completion.choices[0]?.message.content, "late")
    }),
  )

  it.effect("of a request bound everything, and a call cut off by them is recorded as a timeout", () =>
    Effect.gen(function* () {
      const [first, second] = [scripted("provider1"), scripted("provider2")]
      first.always([hang])
      second.always([hang])
      const upstream = yield* upstreamOf([first, second], {
        timeouts: { answer: Duration.seconds(30), total: Duration.seconds(45) },
      })
      const { exit, ms } = yield* timed(Effect.flip(upstream.complete(ask())))
      const error = yield* exit
      assert.strictEqual(ms, 45_000)
      assert.strictEqual(error.code, "upstream-timeout")
      assert.strictEqual(error.status, 504)
      assert.strictEqual(error.provider, "provider2")
      assert.deepStrictEqual(
        error.attempts?.map(({ outcome, provider }) => [provider, outcome]),
        [
          ["provider1", "slow"],
          ["provider2", "timeout"],
        ],
      )
      assert.strictEqual(second.calls[0]?.ended, "interrupted")
    }),
  )

  it.effect("of a request bound a silent stream even if the clock was set back", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(7_200_000)
      const again = yield* Deferred.make<void>()
      let calls = 0
      const stream = () =>
        calls++ === 0
          ? Stream.fromEffect(
              Effect.andThen(TestClock.setTime(3_600_000), new ProviderFailure({ kind: "unavailable" })),
            )
          : Stream.unwrap(Effect.as(Deferred.succeed(again, undefined), Stream.never))
      const upstream = yield* upstreamOf([{ ...scripted("provider1"), stream }], {
        timeouts: { total: Duration.seconds(45) },
      })
      const reading = yield* Effect.forkChild(Effect.flip(Stream.runDrain(streamOf(upstream, ask()))))
      const passing = yield* Effect.forkChild(Effect.forever(TestClock.adjust("1 second")))
      yield* Deferred.await(again)
      yield* Fiber.interrupt(passing)
      yield* TestClock.adjust("45 seconds")
      const exit = reading.pollUnsafe() ?? assert.fail("it still waits")
      assert.strictEqual((yield* exit).code, "upstream-timeout")
    }),
  )
})
