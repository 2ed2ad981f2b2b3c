/**
 * Two scenarios of https://github.com/failoverbench/failoverbench (methodology 0.1), over sockets, with the fault policy as it is
 * by default. `GatewayFailover.test.ts` has the others.
 */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { StreamEvent } from "../../src/domain/upstream/upstream.ts"
import { ask } from "../services/upstream/ScriptedProvider.ts"
import { BACKUP, heard, openAi, readInto, wired, type Wired } from "../services/upstream/WiredUpstream.ts"
import { type Answer, fault } from "../support/FakeUpstream.ts"

const WORDS = Array.from({ length: 60 }, (_, i) => `${i === 0 ? "" : " "}word${i}`)
const ANSWER: Answer = { text: WORDS }
const PROMPT = ask({ caller: "alice" })

/** How much virtual time passes while sockets have their turn, in milliseconds. */
const STEP = 100

/** Streams one answer while virtual time passes. */
const call = Effect.fnUntraced(function* ({ upstream }: Pick<Wired, "upstream">) {
  const events: Array<StreamEvent> = []
  const fiber = yield* Effect.forkChild(readInto(upstream, PROMPT, events), { startImmediately: true })
  while (fiber.pollUnsafe() === undefined) {
    yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 2)))
    if (fiber.pollUnsafe() === undefined) yield* TestClock.adjust(STEP)
  }
  yield* Fiber.join(fiber)
  return heard(events)
})

const setUp = Effect.gen(function* () {
  const all = yield* wired(openAi, { byDefault: true })
  all.backup.always(ANSWER)
  return all
})

describe("the primary", () => {
  it.effect("whose stream is cut is replaced without a prefill, which the fallback would refuse", () =>
    Effect.gen(function* () {
      const all = yield* setUp
      all.target.always({ ...ANSWER, delivery: { breaks: { after: 40, how: "cut" } } })
      all.backup.always(({ turns }) => (turns.at(-1)?.role === "user" ? ANSWER : fault.invalidRequest()))
      const { finished, text } = yield* call(all)
      assert.strictEqual(text, WORDS.join(""))
      assert.strictEqual(finished?.served.provider, BACKUP)
    }),
  )

  it.effect("that is down for a minute is replaced meanwhile, and answers again within 30 s of its recovery", () =>
    Effect.gen(function* () {
      const DOWN = 60_000
      const all = yield* setUp
      const begin = yield* Clock.currentTimeMillis
      let isDown = true
      all.target.always(() => (isDown ? fault.overloaded() : ANSWER))
      let recovered: number | undefined
      for (let i = 0; i < 20; i++) {
        const sent = begin + i * 4_000
        if (sent > (yield* Clock.currentTimeMillis)) yield* TestClock.setTime(sent)
        isDown = (yield* Clock.currentTimeMillis) - begin < DOWN
        const { finished, text } = yield* call(all)
        assert.strictEqual(text, WORDS.join(""))
        if (finished?.served.provider === "provider1") recovered ??= (yield* Clock.currentTimeMillis) - begin - DOWN
      }
      assert.isDefined(recovered)
      assert.isBelow(recovered ?? Infinity, 30_000)
      assert.isBelow(all.target.requests.length, 30)
    }),
  )
})
