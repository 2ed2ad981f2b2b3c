import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { OpenedMemory } from "../../../src/services/sealing/OpenedMemory.ts"

const MAX = 10

/** Holds bytes of one source in a scope of its own. */
const held = Effect.fnUntraced(function* (bytes: number) {
  const memory = yield* OpenedMemory
  const scope = yield* Scope.make()
  const release = yield* Scope.provide(memory.hold("a source", bytes), scope)
  return { release, close: Scope.close(scope, Exit.void) }
})

describe("the memory of opened requests", () => {
  it.effect("is freed once, by the release or by the scope, whichever comes first", () =>
    Effect.gen(function* () {
      for (let round = 0; round < 5; round++) {
        for (const isReleased of [true, false]) {
          const { close, release } = yield* held(MAX)
          assert.strictEqual((yield* Effect.flip(held(1)))._tag, "MemoryFull")
          if (isReleased) release()
          if (isReleased) release()
          yield* close
        }
      }
      yield* held(MAX)
      assert.strictEqual((yield* Effect.flip(held(1)))._tag, "MemoryFull")
    }).pipe(Effect.provide(OpenedMemory.layer({ maxBytes: MAX }))),
  )
})
