import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import { utf8 } from "../../../src/domain/bytes/bytes.ts"
import { RequestIds } from "../../../src/services/sealing/RequestIds.ts"

/** With what ids are kept beyond a session, ten minutes. */
const SESSION_TTL = Duration.minutes(8)
const CREDENTIAL = utf8("Bearer x")

const layer = (max = 6) => RequestIds.layer({ sessionTtl: SESSION_TTL, max })

describe("the ids of requests", () => {
  it.effect("can be claimed once by each credential", () =>
    Effect.gen(function* () {
      const ids = yield* RequestIds
      assert.isTrue(yield* ids.claim(CREDENTIAL, "a", "here"))
      assert.isFalse(yield* ids.claim(CREDENTIAL, "a", "there"))
      assert.isTrue(yield* ids.claim(utf8("Bearer y"), "a", "here"))
    }).pipe(Effect.provide(layer())),
  )

  it.effect("of one source leave room for another's, and those of known callers use none", () =>
    Effect.gen(function* () {
      const ids = yield* RequestIds
      for (const id of ["a", "b", "c"]) assert.isTrue(yield* ids.claim(CREDENTIAL, id, "here"))
      assert.deepStrictEqual([yield* ids.hasRoom("here"), yield* ids.hasRoom("there")], [false, true])
      assert.isFalse(yield* ids.claim(CREDENTIAL, "d", "here"))
      for (const id of ["d", "e", "f"]) assert.isTrue(yield* ids.claim(CREDENTIAL, id, undefined))
      assert.isFalse(yield* ids.hasRoom("there"))
      yield* TestClock.adjust(Duration.minutes(10))
      assert.isTrue(yield* ids.hasRoom("here"))
      assert.isTrue(yield* ids.claim(CREDENTIAL, "a", "here"))
    }).pipe(Effect.provide(layer())),
  )

  it.effect("are forgotten in time, and no sooner, although the clock was set back", () =>
    Effect.gen(function* () {
      const ids = yield* RequestIds
      yield* TestClock.setTime(Duration.toMillis("1 hour"))
      assert.isTrue(yield* ids.claim(CREDENTIAL, "a", "here"))
      yield* TestClock.setTime(0)
      assert.isTrue(yield* ids.claim(CREDENTIAL, "b", "here"))
      yield* TestClock.adjust(Duration.millis(Duration.toMillis("10 minutes") - 1))
      for (const id of ["a", "b"]) assert.isFalse(yield* ids.claim(CREDENTIAL, id, "here"))
      yield* TestClock.adjust(Duration.millis(1))
      for (const id of ["a", "b"]) assert.isTrue(yield* ids.claim(CREDENTIAL, id, "here"))
    }).pipe(Effect.provide(layer())),
  )
})
