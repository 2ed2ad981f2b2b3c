/**
 * The 16 scenarios of https://github.com/failoverbench/failoverbench (methodology 0.1), over sockets, with the fault policy as
 * it is by default: a primary that fails in one way each, and a fallback that is well.
 */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber, Redacted } from "effect"
import { TestClock } from "effect/testing"
import type { StreamEvent, UpstreamError } from "../../src/domain/upstream/upstream.ts"
import { ask } from "../services/upstream/ScriptedProvider.ts"
import { BACKUP, heard, openAi, readInto, wired, type Wired } from "../services/upstream/WiredUpstream.ts"
import { type Answer, type Break, fault, type Fake, type Reply } from "../support/FakeUpstream.ts"

const WORDS = Array.from({ length: 60 }, (_, i) => `${i === 0 ? "" : " "}word${i}`)
const ANSWER: Answer = { text: WORDS }
const PROMPT = ask({ caller: "alice" })

/** How much virtual time passes while sockets have their turn, in milliseconds. */
const STEP = 100

interface Called {
  readonly text: string
  readonly finished: ReturnType<typeof heard>["finished"]
  readonly error: UpstreamError | undefined
  /** In virtual milliseconds. */
  readonly ms: number
  /** When the primary was asked, in virtual milliseconds since the begin. */
  readonly primaryAt: ReadonlyArray<number>
}

/** Streams one answer while virtual time passes. */
const call = Effect.fnUntraced(function* ({ target, upstream }: Pick<Wired, "target" | "upstream">) {
  const startedAt = yield* Clock.currentTimeMillis
  const before = target.requests.length
  const primaryAt: Array<number> = []
  const events: Array<StreamEvent> = []
  const fiber = yield* Effect.forkChild(readInto(upstream, PROMPT, events), { startImmediately: true })
  while (fiber.pollUnsafe() === undefined) {
    yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 2)))
    const now = yield* Clock.currentTimeMillis
    while (primaryAt.length < target.requests.length - before) primaryAt.push(now - startedAt)
    if (fiber.pollUnsafe() === undefined) yield* TestClock.adjust(STEP)
  }
  const exit = yield* Fiber.await(fiber)
  const error = Exit.isSuccess(exit) ? undefined : yield* Effect.flip(exit)
  const { finished, text } = heard(events)
  const result: Called = { text, finished, error, ms: (yield* Clock.currentTimeMillis) - startedAt, primaryAt }
  return result
})

const setUp = Effect.fnUntraced(function* (...first: ReadonlyArray<Reply>) {
  const all = yield* wired(openAi, { byDefault: true })
  all.target.always(ANSWER)
  all.backup.always(ANSWER)
  all.target.script(...first)
  return all
})

const answeredBy = ({ error, finished, text }: Called, provider: string) => {
  assert.isUndefined(error)
  assert.strictEqual(text, WORDS.join(""))
  assert.strictEqual(finished?.served.provider, provider)
  assert.isNotNull(finished?.served.usage)
}

const modelsOf = ({ requests }: Fake) => requests.map(({ asked }) => asked?.model)

/** A primary that replies in one way, once or each time: who answers, and within which bounds. */
interface Scenario {
  readonly once?: Reply
  readonly always?: Reply
  readonly answered: "provider1" | typeof BACKUP
  /** How often the primary is asked at least and at most. */
  readonly asked?: readonly [least: number, most: number]
  readonly withinMs?: number
  /** The provider that answers the next request. */
  readonly next?: string
}

const broken = (how: Break["how"], after: number): Answer => ({ ...ANSWER, delivery: { breaks: { after, how } } })

const SCENARIOS: ReadonlyArray<readonly [name: string, scenario: Scenario]> = [
  [
    "that answers 429 each time is left after a few tries",
    { always: fault.rateLimited(), answered: BACKUP, asked: [1, 4], withinMs: 39_999 },
  ],
  ["that answers 500 once is asked again", { once: fault.serverError(), answered: "provider1", asked: [2, 2] }],
  [
    "that answers 503 each time is left after a few tries",
    { always: fault.overloaded(), answered: BACKUP, asked: [1, 6], withinMs: 39_999 },
  ],
  ["that resets its connection is asked again", { once: fault.reset, answered: "provider1" }],
  [
    "that never answers is left after 10 s and not asked again",
    { always: fault.silence, answered: BACKUP, asked: [1, 1], withinMs: 15_000 },
  ],
  [
    "whose first token is late is left after 10 s",
    { always: { ...ANSWER, delivery: { firstChunkAfter: 600_000 } }, answered: BACKUP, withinMs: 15_000 },
  ],
  ["whose stream is cut is replaced, and the answer is whole", { always: broken("cut", 40), answered: BACKUP }],
  ["whose stream ends early is replaced, and the answer is whole", { always: broken("end", 40), answered: BACKUP }],
  [
    "whose stream stalls is replaced within 45 s, and the next request is served",
    { once: broken("silence", 20), answered: BACKUP, withinMs: 45_000, next: BACKUP },
  ],
  [
    "that sends a malformed chunk is replaced, and the next request is served",
    { always: broken("garbage", 9), answered: BACKUP, next: BACKUP },
  ],
  [
    "that omits the last event is believed at once",
    { once: { ...ANSWER, delivery: { sentinel: "missing" } }, answered: "provider1", withinMs: 8_000 },
  ],
  [
    "whose context is too small is asked once, and the fallback answers",
    { always: fault.contextTooLong(), answered: BACKUP, asked: [1, 1] },
  ],
]

describe("the primary", () => {
  it.effect.each(SCENARIOS)("%s", ([, { always = ANSWER, answered, asked, next, once, withinMs }]) =>
    Effect.gen(function* () {
      const all = yield* setUp(...(once === undefined ? [] : [once]))
      all.target.always(always)
      const called = yield* call(all)
      answeredBy(called, answered)
      if (asked !== undefined) {
        assert.isAtLeast(called.primaryAt.length, asked[0])
        assert.isAtMost(called.primaryAt.length, asked[1])
      }
      if (withinMs !== undefined) assert.isAtMost(called.ms, withinMs)
      if (next !== undefined) answeredBy(yield* call(all), next)
    }),
  )

  it.effect("that answers 429 with Retry-After is asked again after that time", () =>
    Effect.gen(function* () {
      const called = yield* call(yield* setUp(fault.rateLimited({ retryAfter: 2 })))
      answeredBy(called, "provider1")
      const [first = 0, second = 0] = called.primaryAt
      assert.isAtLeast(second - first, 1_800)
      assert.strictEqual(called.primaryAt.length, 2)
    }),
  )

  it.effect("that answers 503 costs nothing, and the answer names the fallback's model", () =>
    Effect.gen(function* () {
      const all = yield* setUp()
      all.target.always(fault.overloaded())
      const called = yield* call(all)
      answeredBy(called, BACKUP)
      assert.strictEqual(called.finished?.served.model, "backup-model")
      assert.deepStrictEqual(modelsOf(all.backup), ["backup-model"])
      const failed = called.finished?.attempts.filter(({ outcome }) => outcome !== "success") ?? []
      assert.strictEqual(failed.length, called.primaryAt.length)
      for (const { provider, usage } of failed) assert.deepStrictEqual([provider, usage], ["provider1", null])
    }),
  )

  it.effect("whose content filter refuses is asked once, and its reason is passed on", () =>
    Effect.gen(function* () {
      const error = { message: "No.", code: "content_policy_violation" }
      const all = yield* setUp()
      all.target.always(fault.status(400, { body: { error } }))
      const called = yield* call(all)
      assert.strictEqual(called.error?.code, "content-filtered")
      assert.strictEqual(called.error?.detail && Redacted.value(called.error.detail), "No.")
      assert.deepStrictEqual([all.target.requests.length, all.backup.requests.length], [1, 0])
    }),
  )

  it.effect("whose stream is cut is replaced without a prefill, which the fallback would refuse", () =>
    Effect.gen(function* () {
      const all = yield* setUp()
      all.target.always(broken("cut", 40))
      all.backup.always(({ turns }) => (turns.at(-1)?.role === "user" ? ANSWER : fault.invalidRequest()))
      answeredBy(yield* call(all), BACKUP)
    }),
  )

  it.effect("that is down for a minute is replaced meanwhile, and answers again within 30 s of its recovery", () =>
    Effect.gen(function* () {
      const DOWN = 60_000
      const all = yield* setUp()
      const begin = yield* Clock.currentTimeMillis
      let isDown = true
      all.target.always(() => (isDown ? fault.overloaded() : ANSWER))
      let recovered: number | undefined
      for (let i = 0; i < 20; i++) {
        const sent = begin + i * 4_000
        if (sent > (yield* Clock.currentTimeMillis)) yield* TestClock.setTime(sent)
        isDown = (yield* Clock.currentTimeMillis) - begin < DOWN
        const { error, finished, text } = yield* call(all)
        assert.isUndefined(error)
        assert.strictEqual(text, WORDS.join(""))
        if (finished?.served.provider === "provider1") recovered ??= (yield* Clock.currentTimeMillis) - begin - DOWN
      }
      assert.isDefined(recovered)
      assert.isBelow(recovered ?? Infinity, 30_000)
      assert.isBelow(all.target.requests.length, 30)
    }),
  )
})
