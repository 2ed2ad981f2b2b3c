/**
 * One request, fifty copies of its bytes and twenty re-sealings of it under the same `request_id`, while its session is used up,
 * evicted, expires, or the proxy shuts down: over HTTP, and the provider that stands behind the proxy is called once.
 */
import { randomUUID } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import { FakeUpstream } from "../support/FakeUpstream.ts"
import { runProxy } from "../support/processes.ts"
import { beginSession, jsonOf, post, seal } from "../support/sealing.ts"
import { sealedSetup } from "../support/sealedSetup.ts"

const COPIES = 50
const RESEALINGS = 20
const PROMPT = { prompt: "Pay Bob 10" }

type Proxy = Parameters<typeof beginSession>[0]

/** `taken`, or the code of the refusal. */
const outcomeOf = async (response: Response): Promise<string> => {
  if (response.status !== 200) return String((await jsonOf(response))["code"])
  await response.text()
  return "taken"
}

const send = async (proxy: Proxy, body: object) => outcomeOf(await post(proxy, "/v1/completions", body))

/** The request, and how to seal it anew in a session of its own. */
const onceSealed = async (proxy: Proxy) => {
  const request_id = randomUUID()
  const { body } = await seal(await beginSession(proxy), PROMPT, { request_id })
  const reseal = async () => (await seal(await beginSession(proxy), PROMPT, { request_id })).body
  return { body, copy: () => send(proxy, body), reseal, again: async () => send(proxy, await reseal()) }
}

const times = <A>(count: number, make: () => A): ReadonlyArray<A> => Array.from({ length: count }, make)

/** Runs all at once, in an order that `seed` gives. */
const mixed = async (seed: number, ...things: ReadonlyArray<() => Promise<string>>): Promise<ReadonlyArray<string>> => {
  let state = seed
  const random = () => (state = (state * 48_271) % 2_147_483_647)
  const order = things.map((thing) => [random(), thing] as const).toSorted(([a], [b]) => a - b)
  return Promise.all(order.map(([, thing]) => thing()))
}

const count = (outcomes: ReadonlyArray<string>, code: string) => outcomes.filter((outcome) => outcome === code).length

describe.each([1, 2, 3])("the provider is called once (order %d)", (seed) => {
  it.effect("for copies and re-sealings of a request that is the last of its session", () =>
    Effect.gen(function* () {
      const { fake, proxy } = yield* sealedSetup({ sessionMaxRequests: 1 })
      yield* Effect.promise(async () => {
        const { again, copy } = await onceSealed(proxy)
        const outcomes = await mixed(seed, ...times(COPIES, () => copy), ...times(RESEALINGS, () => again))
        // Each session serves one, and what it serves is a failure for all but one of them.
        assert.strictEqual(count(outcomes, "taken"), 1 + RESEALINGS)
        assert.strictEqual(count(outcomes, "replayed"), COPIES - 1)
        assert.strictEqual(await copy(), "replayed")
      })
      assert.strictEqual(fake.requests.length, 1)
    }),
  )

  it.effect("while sessions are evicted, including the request's", () =>
    Effect.gen(function* () {
      const { fake, proxy } = yield* sealedSetup({ sessionMaxLive: 3 })
      yield* Effect.promise(async () => {
        const { again, copy } = await onceSealed(proxy)
        const evict = async () => {
          await beginSession(proxy)
          return "evicted"
        }
        const evictions = times(30, () => evict)
        const before = await mixed(
          seed,
          ...times(COPIES / 2, () => copy),
          ...times(RESEALINGS / 2, () => again),
          ...evictions,
        )
        const after = await mixed(
          seed,
          ...times(COPIES / 2, () => copy),
          ...times(RESEALINGS / 2, () => again),
          ...evictions,
        )
        for (const outcome of [...before, ...after]) {
          assert.include(["taken", "replayed", "session-gone", "evicted"], outcome)
        }
        // If the session was evicted before any copy was served, the request can still be served once.
        if (fake.requests.length === 0) assert.strictEqual(await again(), "taken")
      })
      assert.strictEqual(fake.requests.length, 1)
    }),
  )

  it.effect("before and after its session expires", () =>
    Effect.gen(function* () {
      const { fake, proxy } = yield* sealedSetup({ sessionTtl: Duration.seconds(30) })
      const { again, copy, reseal } = yield* Effect.promise(() => onceSealed(proxy))
      const early = yield* Effect.promise(() => Promise.all(times(RESEALINGS / 4, reseal)))
      const storm = (...resealed: ReadonlyArray<() => Promise<string>>) =>
        Effect.promise(() => mixed(seed, ...times(COPIES / 5, () => copy), ...resealed))
      yield* storm()
      yield* TestClock.setTime(29_999)
      const late = yield* storm(...early.map((body) => () => send(proxy, body)))
      assert.strictEqual(count(late, "replayed"), COPIES / 5)
      assert.strictEqual(count(late, "taken"), early.length)
      for (const now of [30_000, 31_000, 90_000, 149_000]) {
        yield* TestClock.setTime(now)
        const outcomes = yield* storm(...times(RESEALINGS / 4, () => again))
        assert.strictEqual(count(outcomes, "session-gone"), COPIES / 5, `after ${now} ms`)
        assert.strictEqual(count(outcomes, "taken"), RESEALINGS / 4)
      }
      assert.strictEqual(fake.requests.length, 1)
    }),
  )
})

it.live("the provider is called once while the process shuts down", () =>
  Effect.gen(function* () {
    const fake = yield* FakeUpstream.make()
    const proxy = yield* runProxy({
      env: {
        PROVIDER1_API_KEY: "key",
        PROVIDER1_BASE_URL: fake.openAi,
        RATE_LIMIT_COMPLETIONS: "0",
        MAX_CONCURRENT_PER_CLIENT: "0",
      },
    })
    yield* Effect.promise(async () => {
      const { promise: finish, resolve: goOn } = Promise.withResolvers<void>()
      fake.always(async () => {
        await finish
        return { text: "done" }
      })
      const { copy, reseal } = await onceSealed(proxy)
      const resealed = await Promise.all(times(RESEALINGS, reseal))
      const again = resealed.map((body) => () => send(proxy, body))
      const first = copy()
      await fake.received(1)
      // Some come before the process looks at the signal, and some afterwards.
      const copies = times(COPIES / 2, () => copy)
      const before = Promise.all([mixed(1, ...copies), mixed(2, ...again.slice(0, RESEALINGS / 2))])
      proxy.kill("SIGTERM")
      const after = Promise.all([mixed(3, ...copies), mixed(4, ...again.slice(RESEALINGS / 2))])
      for (const [copied, sealedAgain] of [await before, await after]) {
        assert.strictEqual(count(copied, "replayed"), COPIES / 2)
        for (const outcome of sealedAgain) assert.include(["taken", "draining"], outcome)
      }
      goOn()
      assert.strictEqual(await first, "taken")
      assert.strictEqual(await proxy.exit, 0)
    })
    assert.strictEqual(fake.requests.length, 1)
  }),
)
