import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { ConcurrencyLimits } from "../../../src/services/access/ConcurrencyLimits.ts"
import { RateLimits } from "../../../src/services/access/RateLimits.ts"

const allowed = (key: string, limit: number) =>
  Effect.gen(function* () {
    const limits = yield* RateLimits
    return yield* Effect.match(limits.take(key, limit), {
      onFailure: ({ retryAfterMs }) => retryAfterMs,
      onSuccess: () => true as const,
    })
  })

it.layer(RateLimits.layer)((it) => {
  it.effect("an empty bucket states when the next request is allowed, and refills evenly", () =>
    Effect.gen(function* () {
      const take = allowed("evenly", 6)
      for (let n = 0; n < 6; n++) assert.isTrue(yield* take)
      assert.strictEqual(yield* take, 10_000)
      yield* TestClock.adjust("4 seconds")
      assert.strictEqual(yield* take, 6_000)
      yield* TestClock.adjust("6 seconds")
      assert.isTrue(yield* take)
      assert.strictEqual(yield* take, 10_000)
      yield* TestClock.adjust("25 seconds")
      assert.deepStrictEqual([yield* take, yield* take, yield* take], [true, true, 5_000])
    }),
  )

  it.effect("a bucket fills also when the clock was set back", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("2 hours")
      const take = allowed("set back", 1)
      assert.isTrue(yield* take)
      yield* TestClock.setTime(0)
      assert.strictEqual(yield* take, 60_000)
      yield* TestClock.adjust("1 minute")
      assert.isTrue(yield* take)
    }),
  )

  it.effect("each caller has a separate bucket, and a limit of 0 allows every request", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* allowed("a", 1))
      assert.isTrue(yield* allowed("b", 1))
      assert.strictEqual(yield* allowed("a", 1), 60_000)
      for (let n = 0; n < 1000; n++) assert.isTrue(yield* allowed("free", 0))
    }),
  )

  it.effect("a full bucket does not fill further", () =>
    Effect.gen(function* () {
      const take = allowed("full", 6)
      assert.isTrue(yield* take)
      // The token is back after ten seconds; further time adds nothing.
      yield* TestClock.adjust("19900 millis")
      for (let n = 0; n < 6; n++) assert.isTrue(yield* take)
      assert.strictEqual(yield* take, 10_000)
    }),
  )

  it.effect("the number of buckets is limited, and the least recently used goes first", () =>
    Effect.gen(function* () {
      for (const name of ["busy", "forgotten", "remembered"]) assert.isTrue(yield* allowed(name, 1))
      // One more than there is room for, with these three.
      for (let n = 0; n < 99_998; n++) {
        yield* allowed(`stranger ${n}`, 1)
        if (n % 10_000 === 0) assert.isNumber(yield* allowed("busy", 1))
      }
      assert.isNumber(yield* allowed("remembered", 1))
      assert.isNumber(yield* allowed("busy", 1))
      assert.isTrue(yield* allowed("forgotten", 1))
    }),
  )
})

it.layer(ConcurrencyLimits.layer)((it) => {
  it.effect("a limit is the number of requests in flight, and 0 is no limit", () =>
    Effect.gen(function* () {
      const limits = yield* ConcurrencyLimits
      for (const limit of [1, 2, 3]) {
        for (let n = 0; n < limit; n++) yield* limits.enter(`up to ${limit}`, limit)
        assert.strictEqual((yield* Effect.flip(limits.enter(`up to ${limit}`, limit))).limit, limit)
      }
      for (let n = 0; n < 1000; n++) yield* limits.enter("free", 0)
    }),
  )

  it.effect("a request no longer counts once its scope has closed, whatever the exit", () =>
    Effect.gen(function* () {
      const limits = yield* ConcurrencyLimits
      const one = limits.enter("a", 1)
      for (let n = 0; n < 3; n++) {
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* one
            assert.strictEqual((yield* Effect.flip(one)).limit, 1)
            yield* limits.enter("b", 1)
          }),
        )
        yield* Effect.exit(Effect.scoped(Effect.andThen(one, Effect.die("broken"))))
        yield* Effect.scoped(Effect.andThen(one, Effect.interrupt)).pipe(Effect.exit)
      }
    }),
  )
})
