import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Scheduler, Stream } from "effect"
import { Handoff } from "../../../src/services/upstream/Handoff.ts"

const streamOf = <A, E>(handoff: Handoff<A, E>) => Stream.fromPull(Effect.succeed(handoff.take))

describe("a handoff", () => {
  it.effect("gives everything in order, what waits together at once, and then its end", () =>
    Effect.gen(function* () {
      const handoff = new Handoff<number, string>(4)
      const taken: Array<ReadonlyArray<number>> = []
      const taking = yield* streamOf(handoff).pipe(
        Stream.runForEachArray((items) => Effect.sync(() => taken.push(items))),
        Effect.forkChild({ startImmediately: true }),
      )
      yield* handoff.offer([1])
      yield* handoff.offer([2, 3])
      handoff.end(Exit.void)
      yield* Fiber.join(taking)
      assert.deepStrictEqual(taken, [[1], [2, 3]])

      const later = new Handoff<number, string>(4)
      yield* later.offer([1])
      yield* later.offer([2, 3])
      later.end(Exit.fail("broken"))
      assert.deepStrictEqual(yield* later.take, [1, 2, 3])
      assert.strictEqual(yield* Effect.flip(Stream.runDrain(streamOf(later))), "broken")
    }),
  )

  it.effect("lets who offers more than may wait go on once it was taken", () =>
    Effect.gen(function* () {
      const handoff = new Handoff<number, never>(2)
      let offered = 0
      const offering = yield* Effect.forEach([1, 2, 3, 4, 5], (item) =>
        Effect.andThen(
          handoff.offer([item]),
          Effect.sync(() => offered++),
        ),
      ).pipe(Effect.forkChild({ startImmediately: true }))
      assert.strictEqual(offered, 2)
      assert.deepStrictEqual(yield* handoff.take, [1, 2, 3])
      yield* Fiber.join(offering)
      assert.deepStrictEqual(yield* handoff.take, [4, 5])
    }),
  )

  it.effect("passes on why it ended, and loses nothing to a reader that was interrupted", () =>
    Effect.gen(function* () {
      const handoff = new Handoff<number, never>(4)
      const taking = yield* Effect.forkChild(handoff.take, { startImmediately: true })
      yield* Fiber.interrupt(taking)
      yield* handoff.offer([1])
      assert.deepStrictEqual(yield* handoff.take, [1])
      handoff.end(Exit.die("a defect"))
      const exit = yield* Effect.exit(Stream.runDrain(streamOf(handoff)))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
    }),
  )

  // A fiber that has had its share of operations pauses, wherever it is.
  it.effect.each([3, 4, 5, 6, 7, 8])("wakes both sides even if one of them pauses every %i operations", (operations) =>
    Effect.gen(function* () {
      const handoff = new Handoff<number, never>(1)
      const items = Array.from({ length: 50 }, (_, index) => index)
      const offering = yield* Effect.forEach(items, (item) => handoff.offer([item]), { discard: true }).pipe(
        Effect.onExit((exit) => Effect.sync(() => handoff.end(exit))),
        Effect.provideService(Scheduler.MaxOpsBeforeYield, operations),
        Effect.forkChild,
      )
      const taken = yield* Stream.runCollect(streamOf(handoff)).pipe(
        Effect.provideService(Scheduler.MaxOpsBeforeYield, operations + 1),
      )
      yield* Fiber.join(offering)
      assert.deepStrictEqual(taken, items)
    }),
  )
})
