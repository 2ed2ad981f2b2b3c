/** Complete answers under a test clock. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { makeCompleteResponse } from "../../src/http/proxy/completeResponse.ts"
import type { Frames } from "../../src/services/sealing/sealComplete.ts"

const NONCE = new Uint8Array(32)
const FRAMES: Frames = [Uint8Array.of(1), Uint8Array.of(2)]
const JSON_TEXT = `{"response_nonce":"${"A".repeat(43)}","frames":["AQ","Ag"]}`

/** Reads a response whose answer is ready when `answer` is done. */
const read = Effect.gen(function* () {
  const completeResponse = yield* makeCompleteResponse
  return Effect.fnUntraced(function* () {
    const answer = yield* Deferred.make<Frames>()
    const frames = yield* Effect.forkScoped(Deferred.await(answer))
    const { body, headers } = completeResponse({ _tag: "Complete", frames, responseNonce: NONCE })
    const heard: Array<string> = []
    const reading = yield* (
      body._tag === "Stream" ? Stream.decodeText(body.stream) : Stream.die(new Error("not a stream"))
    ).pipe(
      Stream.runForEach((text) => Effect.sync(() => heard.push(text))),
      Effect.exit,
      Effect.forkScoped,
    )
    yield* TestClock.adjust(0)
    return { answer, frames, headers, heard, reading }
  })
})

describe("a complete answer", () => {
  it.effect("is one space at once, one after every 15 seconds, and then its JSON", () =>
    Effect.gen(function* () {
      const begin = yield* read
      yield* TestClock.adjust("10 seconds")
      const first = yield* begin()
      assert.strictEqual(first.headers["cache-control"], "no-store, no-transform")
      assert.deepStrictEqual(first.heard, [" "])
      yield* TestClock.adjust("10 seconds")
      const second = yield* begin()
      yield* TestClock.adjust("4 seconds")
      assert.deepStrictEqual(first.heard, [" "])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([first.heard, second.heard], [[" ", " "], [" "]])
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(
        [first.heard, second.heard],
        [
          [" ", " "],
          [" ", " "],
        ],
      )
      yield* Deferred.succeed(second.answer, FRAMES)
      yield* Fiber.join(second.reading)
      assert.deepStrictEqual(second.heard, [" ", " ", JSON_TEXT])
      yield* TestClock.adjust("35 seconds")
      assert.deepStrictEqual(first.heard, [" ", " ", " ", " ", " "])
      yield* Deferred.succeed(first.answer, FRAMES)
      yield* Fiber.join(first.reading)
      assert.strictEqual(first.heard.join(""), `     ${JSON_TEXT}`)
    }),
  )

  it.effect("breaks off if the answer fails", () =>
    Effect.gen(function* () {
      const begin = yield* read
      const { frames, heard, reading } = yield* begin()
      yield* Fiber.interrupt(frames)
      assert.isTrue(Exit.isFailure(yield* Fiber.join(reading)))
      assert.deepStrictEqual(heard, [" "])
    }),
  )
})
