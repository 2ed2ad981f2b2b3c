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
  it.effect("a bucket empties, says when to come back, and fills evenly", () =>
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

  it.effect("callers do not share, and a limit of 0 is none", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* allowed("a", 1))
      assert.isTrue(yield* allowed("b", 1))
      assert.strictEqual(yield* allowed("a", 1), 60_000)
      for (let n = 0; n < 1000; n++) assert.isTrue(yield* allowed("free", 0))
    }),
  )

  it.effect("only so many callers are remembered, and the ones heard of last are", () =>
    Effect.gen(function* () {
      const crowd = 99_999
      assert.isTrue(yield* allowed("patient", 1))
      assert.isTrue(yield* allowed("busy", 1))
      for (let n = 0; n < crowd; n++) {
        yield* allowed(`stranger ${n}`, 1)
        if (n % 10_000 === 0) assert.isNumber(yield* allowed("busy", 1))
      }
      assert.isNumber(yield* allowed("busy", 1))
      assert.isTrue(yield* allowed("patient", 1))
    }),
  )
})

it.layer(ConcurrencyLimits.layer)((it) => {
  it.effect("places are given back when their scope closes, however it does", () =>
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
