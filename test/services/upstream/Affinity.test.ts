import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { Message } from "../../../src/domain/chat/chat.ts"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { RawObject } from "../../../src/domain/json/rawObject.ts"
import type { ApiRequest, ProviderId, UpstreamRequest } from "../../../src/domain/upstream/upstream.ts"
import { makeAffinity, STAY } from "../../../src/services/upstream/Affinity.ts"
import { MAX_PLACES, MAX_PLACES_OF_CALLER } from "../../../src/services/upstream/RecentPlaces.ts"
import type { Upstream } from "../../../src/services/upstream/Upstream.ts"
import { settableClock } from "../../support/settableClock.ts"
import { ask, fails, finish, passingTime, scripted, text, upstreamOf, wait } from "./ScriptedProvider.ts"
import { canned, json } from "./providers/support/Canned.ts"
import { streamOf } from "../../support/streamed.ts"

const once = { retry: { times: 0 }, circuit: { failures: 1_000, slow: 1_000 } }

/** Turn `n` of a conversation, from 1. */
const turn = (
  n: number,
  { about = "hi", caller = "alice", ...more }: Partial<UpstreamRequest> & { readonly about?: string } = {},
) => {
  const messages = Array.from({ length: 2 * n - 1 }, (_, i): Message =>
    i % 2 === 0 ? { role: "user", content: i === 0 ? about : "go on" } : { role: "assistant", content: "ok" },
  )
  return ask({ caller, completion: { messages }, ...more })
}

const servedBy = (upstream: Upstream["Service"], request: UpstreamRequest) =>
  Effect.map(passingTime(upstream.complete(request), "1 second"), ({ served }) => served.provider)

const pair = () => [scripted("provider1"), scripted("provider2")] as const

/** Two providers and a conversation of alice that had to go on at the second one. */
const moved = Effect.fnUntraced(function* (request: UpstreamRequest = turn(1)) {
  const [first, second] = pair()
  const upstream = yield* upstreamOf([first, second], once)
  first.script([fails("unavailable")])
  assert.strictEqual(yield* servedBy(upstream, request), "provider2")
  return { first, second, upstream }
})

describe("a conversation", () => {
  it.effect("stays where it moved, with the model that answered, while others follow the order", () =>
    Effect.gen(function* () {
      const { first, second, upstream } = yield* moved()
      for (const n of [2, 3]) assert.strictEqual(yield* servedBy(upstream, turn(n)), "provider2")
      assert.strictEqual(yield* servedBy(upstream, turn(1, { about: "something else" })), "provider1")
      assert.strictEqual(first.calls.length, 2)
      assert.deepStrictEqual(
        second.calls.map(({ model }) => model),
        ["provider2-model", "provider2-model", "provider2-model"],
      )
    }),
  )

  it.effect("stays where it moved when it is streamed", () =>
    Effect.gen(function* () {
      const [first, second] = pair()
      const upstream = yield* upstreamOf([first, second], once)
      first.script([text("half"), fails("unavailable")])
      for (const n of [1, 2]) {
        const last = yield* passingTime(Stream.runLast(streamOf(upstream, turn(n))), "1 second")
        assert.strictEqual(
          last._tag === "Some" && last.value._tag === "Finished" ? last.value.served.provider : "",
          "provider2",
        )
      }
      assert.strictEqual(first.calls.length, 1)
    }),
  )

  it.effect("moves on when its new provider fails, and stays there", () =>
    Effect.gen(function* () {
      const { first, second, upstream } = yield* moved()
      second.script([fails("unavailable")])
      assert.strictEqual(yield* servedBy(upstream, turn(2)), "provider1")
      assert.strictEqual(yield* servedBy(upstream, turn(3)), "provider1")
      assert.deepStrictEqual([first.calls.length, second.calls.length], [3, 2])
    }),
  )

  it.effect("skips its new provider while that one's circuit is open", () =>
    Effect.gen(function* () {
      const [first, second] = pair()
      const upstream = yield* upstreamOf([first, second], { retry: { times: 0 }, circuit: { failures: 1 } })
      first.script([fails("unavailable")])
      assert.strictEqual(yield* servedBy(upstream, turn(1)), "provider2")
      yield* TestClock.adjust("1 minute")
      second.script([fails("unavailable")])
      yield* passingTime(Effect.flip(upstream.complete(ask({ provider: "provider2" }))), "1 second")
      assert.strictEqual(yield* servedBy(upstream, turn(2)), "provider1")
      assert.strictEqual(second.calls.length, 2)
    }),
  )

  it.effect("stays in place after it failed everywhere", () =>
    Effect.gen(function* () {
      const { first, second, upstream } = yield* moved()
      second.script([fails("unavailable")])
      first.script([fails("unavailable")])
      yield* passingTime(Effect.flip(upstream.complete(turn(2))), "1 second")
      assert.strictEqual(yield* servedBy(upstream, turn(2)), "provider2")
    }),
  )

  it.effect("belongs to one caller and one model", () =>
    Effect.gen(function* () {
      const named = { completion: { ...turn(1).completion, prompt_cache_key: "k", model: "m" } }
      const { upstream } = yield* moved(turn(1, named))
      assert.strictEqual(yield* servedBy(upstream, turn(2, named)), "provider2")
      for (const other of [
        { ...named, caller: "bob" },
        { ...named, caller: undefined },
        { completion: { ...named.completion, model: "other" } },
        { completion: { ...named.completion, prompt_cache_key: "K" } },
      ]) {
        assert.strictEqual(yield* servedBy(upstream, { ...turn(2), ...other }), "provider1")
      }
    }),
  )

  it.effect("does not override the provider that a request names", () =>
    Effect.gen(function* () {
      const { upstream } = yield* moved()
      assert.strictEqual(yield* servedBy(upstream, turn(2, { provider: "provider1" })), "provider1")
      const targets = [
        { provider: "provider1", model: "m" },
        { provider: "provider2", model: "m" },
      ] as const
      assert.strictEqual(yield* servedBy(upstream, turn(2, { targets })), "provider1")
      assert.strictEqual(yield* servedBy(upstream, turn(2)), "provider2")
    }),
  )

  it.effect("returns 20 s after it moved, even with turns in between", () =>
    Effect.gen(function* () {
      const { upstream } = yield* moved()
      const from = yield* Clock.currentTimeMillis
      for (const n of [2, 3, 4]) {
        yield* TestClock.adjust("5 seconds")
        assert.strictEqual(yield* servedBy(upstream, turn(n)), "provider2")
      }
      yield* TestClock.setTime(from + Duration.toMillis(STAY))
      assert.strictEqual(yield* servedBy(upstream, turn(5)), "provider1")
    }),
  )

  it.effect("returns in time although the clock was set back", () =>
    Effect.gen(function* () {
      const { clock, set } = yield* settableClock
      yield* Effect.gen(function* () {
        const { upstream } = yield* moved()
        set.forward = -Duration.toMillis("1 day")
        yield* TestClock.adjust(STAY)
        assert.strictEqual(yield* servedBy(upstream, turn(2)), "provider1")
      }).pipe(Effect.provideService(Clock.Clock, clock))
    }),
  )

  it.effect("returns although all conversations share one prompt_cache_key, and moves again if that fails", () =>
    Effect.gen(function* () {
      const shared = { completion: { ...turn(1).completion, prompt_cache_key: "everything" } }
      const { first, upstream } = yield* moved(turn(1, shared))
      yield* TestClock.adjust(STAY)
      first.script([fails("unavailable")])
      assert.strictEqual(yield* servedBy(upstream, turn(1, shared)), "provider2")
      assert.strictEqual(yield* servedBy(upstream, turn(1, shared)), "provider2")
      yield* TestClock.adjust(STAY)
      assert.strictEqual(yield* servedBy(upstream, turn(1, shared)), "provider1")
    }),
  )

  it.effect("follows the order again as soon as the circuit that diverted it closes", () =>
    Effect.gen(function* () {
      const [first, second] = pair()
      const upstream = yield* upstreamOf([first, second], { retry: { times: 0 }, circuit: { failures: 1 } })
      first.script([fails("unavailable")])
      assert.strictEqual(yield* servedBy(upstream, turn(1, { about: "another" })), "provider2")
      assert.strictEqual(yield* servedBy(upstream, turn(1)), "provider2")
      yield* TestClock.adjust("7 seconds")
      assert.strictEqual(yield* servedBy(upstream, turn(2)), "provider1")
    }),
  )

  /** Conversations of several callers between two providers, of which all lead to the first. */
  const places = Effect.fnUntraced(function* () {
    const [first, second] = pair().map((provider) => ({ provider, model: provider.defaultModel }))
    if (first === undefined || second === undefined) return yield* Effect.die("a pair is two")
    const affinity = makeAffinity()
    const turnOf = (caller: string, about: string) => affinity.turn(turn(1, { caller, about }), [first, second])
    const move = (caller: string, about: string) =>
      Effect.flatMap(turnOf(caller, about), ({ answered }) => answered(second, undefined, () => true))
    return {
      move,
      moveMany: (caller: string, count: number) =>
        Effect.forEach(Array.from({ length: count }), (_, i) => move(caller, `${i}`), { discard: true }),
      stays: (caller: string, about: string) =>
        Effect.map(turnOf(caller, about), ({ targets }) => targets[0]?.provider === second.provider),
    }
  })

  it.effect("is forgotten after enough other conversations have moved", () =>
    Effect.gen(function* () {
      const { move, moveMany, stays } = yield* places()
      yield* move("alice", "old")
      yield* move("alice", "new")
      const others = MAX_PLACES / MAX_PLACES_OF_CALLER
      for (let i = 1; i < others; i++) yield* moveMany(`caller ${i}`, MAX_PLACES_OF_CALLER)
      yield* moveMany("the last", MAX_PLACES_OF_CALLER - 2)
      assert.isTrue(yield* stays("alice", "old"))
      yield* move("the last", "one more")
      assert.isFalse(yield* stays("alice", "old"))
      assert.isTrue(yield* stays("alice", "new"))
      assert.isTrue(yield* stays("the last", "one more"))
    }),
  )

  it.effect("survives any number of another caller's conversations, whose own oldest are forgotten", () =>
    Effect.gen(function* () {
      const { move, moveMany, stays } = yield* places()
      yield* move("alice", "hers")
      yield* move("mallory", "old")
      yield* moveMany("mallory", MAX_PLACES_OF_CALLER - 1)
      assert.isTrue(yield* stays("mallory", "old"))
      yield* move("mallory", "one more")
      assert.isFalse(yield* stays("mallory", "old"))
      yield* moveMany("mallory", MAX_PLACES)
      assert.isFalse(yield* stays("mallory", "old"))
      assert.isTrue(yield* stays("alice", "hers"))
    }),
  )

  it.effect("follows the first of its concurrent turns that had to move", () =>
    Effect.gen(function* () {
      const [first, second, third] = [scripted("provider1"), scripted("provider2"), scripted("provider3")]
      const upstream = yield* upstreamOf([first, second, third], once)
      // The first turn is answered slowly where it was; the next moves to the third; one that moved to the second is last.
      first.script([wait(300), text("slow"), finish()], [fails("unavailable")], [fails("unavailable")])
      second.script([fails("unavailable")], [wait(200), text("later"), finish()])
      third.script([wait(100), text("soon"), finish()])
      const answers = yield* passingTime(
        Effect.forEach([0, 10, 20], (ms) => Effect.delay(upstream.complete(turn(1)), ms), {
          concurrency: "unbounded",
        }),
        "1 second",
      )
      assert.deepStrictEqual(
        answers.map(({ served }) => served.provider),
        ["provider1", "provider3", "provider2"],
      )
      assert.strictEqual(yield* servedBy(upstream, turn(2)), "provider3")
    }),
  )
})

describe("a conversation with encrypted reasoning", () => {
  const reasoning = (encrypted_content: string) => ({ type: "reasoning", id: "rs_1", summary: [], encrypted_content })
  const FOREIGN = {
    message: "The encrypted content for item rs_1 could not be verified.",
    type: "invalid_request_error",
    param: null,
    code: "invalid_encrypted_content",
  }

  /** A provider that can only read its own reasoning. */
  const writer = Effect.fnUntraced(function* (id: ProviderId) {
    const state = { refused: 0, isDown: false }
    const { provider } = yield* canned("openai", ({ body }) => {
      if (state.isDown) return json({ error: { message: "down" } }, { status: 503 })
      const text = JSON.stringify(body)
      if (/"encrypted_content":"by /.test(text.replaceAll(`by ${id}`, ""))) {
        state.refused++
        return json({ error: FOREIGN }, { status: 400 })
      }
      return json({ id: "r", status: "completed", model: "gpt", output: [reasoning(`by ${id}`)], usage: null })
    })
    return { state, provider: { ...provider, id } }
  })

  const targets = (["provider1", "provider2"] as const).map((provider) => ({ provider, model: "gpt" }))

  /** The body of turn `n` of a conversation, from 1, whose reasoning `by` wrote. */
  const bodyOf = (n: number, by: ProviderId, opening = "hi", more: JsonObject = {}) =>
    RawObject.of({
      include: ["reasoning.encrypted_content"],
      store: false,
      input: [{ role: "user", content: opening }, ...Array.from({ length: n - 1 }, () => reasoning(`by ${by}`))],
      ...more,
    })

  const turnBy = (n: number, by: ProviderId, more: Partial<ApiRequest> = {}): ApiRequest => ({
    api: "responses",
    headers: {},
    model: "gpt",
    caller: "alice",
    // Strategies such as `weighted` change the order from turn to turn.
    targets: n % 2 === 0 ? targets.toReversed() : targets,
    body: bodyOf(n, by),
    ...more,
  })

  const two = Effect.gen(function* () {
    const [first, second] = [yield* writer("provider1"), yield* writer("provider2")]
    const upstream = yield* upstreamOf([first.provider, second.provider], once)
    const servedOf = (request: ApiRequest) =>
      Effect.map(passingTime(upstream.request(request), "1 second"), ({ served }) => served.provider)
    return { first, second, servedOf, upstream }
  })

  it.effect("stays with the provider that wrote it, in whichever order providers come, for an hour of pauses", () =>
    Effect.gen(function* () {
      const { first, second, servedOf } = yield* two
      for (let n = 1; n <= 20; n++) {
        assert.strictEqual(yield* servedOf(turnBy(n, "provider1")), "provider1")
        yield* TestClock.adjust("50 minutes")
      }
      assert.deepStrictEqual([first.state.refused, second.state.refused], [0, 0])
    }),
  )

  it.effect("is refused by other providers without hiding that its own is down for now", () =>
    Effect.gen(function* () {
      const { first, second, servedOf, upstream } = yield* two
      yield* servedOf(turnBy(1, "provider1"))
      first.state.isDown = true
      const error = yield* passingTime(Effect.flip(upstream.request(turnBy(2, "provider1"))), "1 second")
      assert.deepInclude(error, { code: "upstream-unavailable", provider: "provider1", retryable: true })
      assert.strictEqual(second.state.refused, 1)
    }),
  )

  it.effect("finds its provider again if that is forgotten", () =>
    Effect.gen(function* () {
      const { first, servedOf } = yield* two
      for (const n of [3, 5]) assert.strictEqual(yield* servedOf(turnBy(n, "provider2")), "provider2")
      assert.strictEqual(first.state.refused, 1)
    }),
  )

  it.effect.each<JsonObject>([{ metadata: { user_id: "u" } }, { prompt_cache_key: "k" }])(
    "stays with its provider if another conversation with the same name is at another one: %j",
    (name) =>
      Effect.gen(function* () {
        const { first, second, servedOf } = yield* two
        for (const n of [1, 2, 3, 4]) {
          for (const by of ["provider1", "provider2"] as const) {
            const isFirst = (n === 1) === (by === "provider1")
            const body = bodyOf(n, by, `for ${by}`, name)
            const turn = turnBy(n, by, { body, targets: isFirst ? targets : targets.toReversed() })
            assert.strictEqual(yield* servedOf(turn), by)
          }
        }
        assert.deepStrictEqual([first.state.refused, second.state.refused], [0, 0])
      }),
  )

  it.effect("reveals nothing about conversations of others, and new conversations follow the order", () =>
    Effect.gen(function* () {
      const { servedOf } = yield* two
      yield* servedOf(turnBy(1, "provider1"))
      assert.strictEqual(yield* servedOf(turnBy(2, "provider2", { caller: "bob" })), "provider2")
      assert.strictEqual(yield* servedOf({ ...turnBy(1, "provider1"), targets: targets.toReversed() }), "provider2")
    }),
  )
})
