import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { Provider } from "../../../src/services/upstream/Provider.ts"
import type { Upstream } from "../../../src/services/upstream/Upstream.ts"
import { ask, finish, hang, type Script, says, scripted, text, timed, upstreamOf, wait } from "./ScriptedProvider.ts"
import { streamOf } from "../../support/streamed.ts"

const answersAfter = (ms: number): Script => [wait(ms), text("late"), finish()]

/** Returns the provider that served a stream, and the milliseconds it took. */
const streamed = (upstream: Upstream["Service"], request = ask()) =>
  Effect.map(timed(Stream.runLast(streamOf(upstream, request))), ({ exit, ms }) => {
    const last = exit._tag === "Success" && exit.value._tag === "Some" ? exit.value.value : undefined
    return [last?._tag === "Finished" ? last.served.provider : undefined, ms] as const
  })

const plain = { circuit: { failures: 1_000, slow: 1_000 } }

const pair = Effect.fnUntraced(function* (first = scripted("provider1"), providers: ReadonlyArray<Provider> = []) {
  const second = scripted("provider2")
  const upstream = yield* upstreamOf([first, ...providers, second], plain)
  return { first, second, upstream }
})

describe("the limit for the first output", () => {
  it.effect("is 10 s for a hanging target, even after fast answers", () =>
    Effect.gen(function* () {
      const { first, upstream } = yield* pair()
      for (let i = 0; i < 3; i++) yield* streamed(upstream)
      first.always([hang])
      for (let i = 0; i < 40; i++) assert.deepStrictEqual(yield* streamed(upstream), ["provider2", 10_000])
    }),
  )

  it.effect("is three times the longest recent time of its target, up to the configured limit", () =>
    Effect.gen(function* () {
      const { first, upstream } = yield* pair()
      first.script(answersAfter(9_000), answersAfter(26_000), [hang])
      assert.deepStrictEqual(yield* streamed(upstream), ["provider1", 9_000])
      assert.deepStrictEqual(yield* streamed(upstream), ["provider1", 26_000])
      assert.deepStrictEqual(yield* streamed(upstream), ["provider2", 60_000])
      first.script(...Array.from({ length: 31 }, () => says("soon")), [hang])
      for (let i = 0; i < 31; i++) yield* streamed(upstream)
      assert.deepStrictEqual(yield* streamed(upstream), ["provider2", 10_000])
    }),
  )

  it.effect("doubles after each timeout of a target that has never answered", () =>
    Effect.gen(function* () {
      const { first, upstream } = yield* pair()
      first.always(answersAfter(35_000))
      assert.deepStrictEqual(yield* streamed(upstream), ["provider2", 10_000])
      assert.deepStrictEqual(yield* streamed(upstream), ["provider2", 20_000])
      assert.deepStrictEqual(yield* streamed(upstream), ["provider1", 35_000])
    }),
  )

  it.effect("is the configured one for the last target", () =>
    Effect.gen(function* () {
      const { first, second, upstream } = yield* pair()
      first.always([hang])
      second.always(answersAfter(59_999))
      assert.deepStrictEqual(yield* streamed(upstream), ["provider2", 10_000 + 59_999])
    }),
  )

  it.effect(
    "is the configured one for a request that asks the model to think, and is learned separately from other requests",
    () =>
      Effect.gen(function* () {
        const { first, upstream } = yield* pair()
        const thinking = ask({ completion: { ...ask().completion, reasoning_effort: "high" } })
        yield* streamed(upstream)
        first.script(answersAfter(59_000), [hang])
        assert.deepStrictEqual(yield* streamed(upstream, thinking), ["provider1", 59_000])
        assert.deepStrictEqual(yield* streamed(upstream), ["provider2", 10_000])
      }),
  )

  it.effect("grows by a second with each 8 kB of the prompt", () =>
    Effect.gen(function* () {
      const { first, upstream } = yield* pair()
      first.script([hang])
      const long = ask({ completion: { messages: [{ role: "user", content: "x".repeat(80_000) }] } })
      assert.deepStrictEqual(yield* streamed(upstream, long), ["provider2", 20_000])
    }),
  )
})
