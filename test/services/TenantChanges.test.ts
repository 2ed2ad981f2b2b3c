/** Announcements of a tenant's changes, between processes that share a database. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { JobSignals, makeSignalBoard, type Topic } from "../../src/services/jobs/JobSignals.ts"
import { layerTenantChanges, TenantChanges } from "../../src/services/TenantChanges.ts"

/** Two processes on one board of signals, and the topics that they published. */
const twoProcesses = Effect.gen(function* () {
  const board = yield* makeSignalBoard
  const published: Array<Topic> = []
  const signals = JobSignals.of({
    publish: (topic) =>
      Effect.sync(() => {
        published.push(topic)
        board.wake(topic)
      }),
    subscribe: (...topics) => board.subscribe(topics),
    listen: (onTopic) => board.listen(onTopic),
  })
  const process = Effect.map(
    Layer.build(Layer.provide(layerTenantChanges, Layer.succeed(JobSignals, signals))),
    (built) => Effect.runSync(Effect.provide(TenantChanges, built)),
  )
  return { here: yield* process, there: yield* process, published }
})

/** Counts the elements of a stream while it is open. */
const counted = Effect.fnUntraced(function* (stream: Stream.Stream<void>) {
  const count = { news: 0 }
  const fiber = yield* Effect.forkScoped(Stream.runForEach(stream, () => Effect.sync(() => count.news++)))
  return { count, close: Fiber.interrupt(fiber), isOpen: () => fiber.pollUnsafe() === undefined }
})

describe("the stream of a tenant's changes", () => {
  it.effect("reaches followers in every process, at most once a second", () =>
    Effect.gen(function* () {
      const { here, there } = yield* twoProcesses
      const { count } = yield* counted(there.follow("acme"))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(count.news, 1, "the first element comes without a change")
      for (let i = 0; i < 10; i++) yield* here.note("acme")
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(count.news, 2)
      for (let i = 0; i < 10; i++) yield* here.note("acme")
      yield* TestClock.adjust("900 millis")
      assert.strictEqual(count.news, 2)
      yield* TestClock.adjust("100 millis")
      assert.strictEqual(count.news, 3)
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual(count.news, 3)
    }),
  )

  it.effect("reaches followers of all tenants, and no follower of another, whatever the tenants are called", () =>
    Effect.gen(function* () {
      const { here } = yield* twoProcesses
      const own = yield* counted(here.follow("acme corp"))
      const all = yield* counted(here.follow(undefined))
      const other = yield* counted(here.follow("acme"))
      yield* TestClock.adjust("1 second")
      yield* here.note("acme corp")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([own.count.news, all.count.news, other.count.news], [2, 2, 1])
    }),
  )

  it.effect("sends nothing while nobody follows", () =>
    Effect.gen(function* () {
      const { here, published, there } = yield* twoProcesses
      yield* here.note("acme")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(published, [])
      const { close } = yield* counted(there.follow("acme"))
      yield* TestClock.adjust("1 second")
      yield* here.note("umbrella")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([...new Set(published)], ["followed:acme"])
      yield* close
      yield* TestClock.adjust("15 seconds")
      yield* here.note("acme")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([...new Set(published)], ["followed:acme"])
    }),
  )

  it.effect("ends after 10 minutes", () =>
    Effect.gen(function* () {
      const { here } = yield* twoProcesses
      const { isOpen } = yield* counted(here.follow("acme"))
      yield* TestClock.adjust("599 seconds")
      assert.isTrue(isOpen())
      yield* TestClock.adjust("1 second")
      assert.isFalse(isOpen())
    }),
  )
})
