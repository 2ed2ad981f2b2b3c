/** A sealed request is served once, whatever the path does with copies of it. Time is the test's own. */
import { assert, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import { startProxy } from "../support/proxy.ts"
import { beginSession, jsonOf, post, seal } from "../support/sealing.ts"
import { recording } from "../support/tamper.ts"

const codeOf = async (response: Response) => [response.status, (await jsonOf(response))["code"]]

it.effect("of fifty concurrent copies one is served and the others are refused as replayed", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    yield* Effect.promise(async () => {
      const { body } = await seal(await beginSession(proxy), { prompt: "Pay Bob 10" })
      const answers = await Promise.all(Array.from({ length: 50 }, () => post(proxy, "/v1/completions", body)))
      const refused = answers.filter(({ status }) => status !== 200)
      assert.strictEqual(refused.length, 49)
      for (const answer of refused) assert.deepStrictEqual(await codeOf(answer), [409, "replayed"])
      assert.deepStrictEqual(await codeOf(await post(proxy, "/v1/completions", body)), [409, "replayed"])
    })
  }),
)

it.effect("copies of a stream are refused while it runs, also with other ciphertext or spelling", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    yield* Effect.promise(async () => {
      const session = await beginSession(proxy)
      const { body } = await seal(session, { prompt: "one two three", stream: true })
      const other = await seal(session, { prompt: "four" })
      const first = await post(proxy, "/v1/completions", body)
      assert.strictEqual(first.status, 200)
      assert.deepStrictEqual(await codeOf(await post(proxy, "/v1/completions", body)), [409, "replayed"])
      const mixed = { ...body, ciphertext: other.body.ciphertext }
      assert.deepStrictEqual(await codeOf(await post(proxy, "/v1/completions", mixed)), [409, "replayed"])
      for (const enc of [`${body.enc}=`, ` ${body.enc}`, `${body.enc}\n`]) {
        assert.deepStrictEqual(await codeOf(await post(proxy, "/v1/completions", { ...body, enc })), [400, "malformed"])
      }
      await first.body?.cancel()
      assert.deepStrictEqual(await codeOf(await post(proxy, "/v1/completions", body)), [409, "replayed"])
    })
  }),
)

it.effect("after the session has expired the request is refused, at once and after the key was pruned", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy({ settings: { sessionTtl: Duration.seconds(30) } })
    const session = yield* Effect.promise(() => beginSession(proxy))
    const served = yield* Effect.promise(() => seal(session, { prompt: "once" }))
    const fresh = yield* Effect.promise(() => seal(session, { prompt: "late" }))
    const send = (body: object) => Effect.promise(async () => codeOf(await post(proxy, "/v1/completions", body)))
    assert.strictEqual((yield* send(served.body))[0], 200)
    // One step of the clock, so that the request and not the timer finds the session expired.
    yield* TestClock.setTime(30_000)
    assert.deepStrictEqual(yield* send(served.body), [410, "session-gone"])
    assert.deepStrictEqual(yield* send(fresh.body), [410, "session-gone"])
    yield* TestClock.adjust("2 seconds")
    assert.deepStrictEqual(yield* send(served.body), [410, "session-gone"])
  }),
)

it.effect("after its session was used up or evicted the request is refused", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy({ settings: { sessionMaxRequests: 2, sessionMaxLive: 2 } })
    yield* Effect.promise(async () => {
      const spent = await beginSession(proxy)
      const requests = await Promise.all([1, 2, 3].map((n) => seal(spent, { prompt: String(n) })))
      const answers = []
      for (const { body } of [...requests, ...requests]) {
        answers.push((await post(proxy, "/v1/completions", body)).status)
      }
      assert.deepStrictEqual(answers, [200, 200, 410, 409, 409, 410])

      const evicted = await beginSession(proxy)
      const { body } = await seal(evicted, { prompt: "evicted" })
      await beginSession(proxy)
      await beginSession(proxy)
      assert.deepStrictEqual(await codeOf(await post(proxy, "/v1/completions", body)), [410, "session-gone"])
    })
  }),
)

it.effect("a request that could not be opened uses nothing up", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy({ settings: { sessionMaxRequests: 1 } })
    yield* Effect.promise(async () => {
      const session = await beginSession(proxy)
      const { body } = await seal(session, { prompt: "mine" })
      const other = await seal(session, { prompt: "theirs" })
      const forged = { ...body, ciphertext: other.body.ciphertext }
      assert.deepStrictEqual(await codeOf(await post(proxy, "/v1/completions", forged)), [400, "unopenable"])
      assert.strictEqual((await post(proxy, "/v1/completions", body)).status, 200)
    })
  }),
)

it.effect("the client renews a session that is gone, by itself and once, for answers and streams", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy({ settings: { sessionTtl: Duration.seconds(60) } })
    const paths: Array<string> = []
    const client = proxy.client({
      fetch: (url, init) => {
        paths.push(new URL(url).pathname)
        return fetch(url, init)
      },
    })
    yield* Effect.promise(() => client.complete({ prompt: "first" }))
    yield* TestClock.adjust("90 seconds")
    const { completion } = yield* Effect.promise(() => client.complete({ prompt: "second" }))
    assert.strictEqual(completion.choices[0]?.message.content, "second")
    yield* TestClock.adjust("90 seconds")
    const text = yield* Effect.promise(async () => (await client.stream({ prompt: "third time" })).text())
    assert.strictEqual(text, "third time")
    const renewed = ["/v1/completions", "/v1/init", "/v1/completions"]
    assert.deepStrictEqual(paths, ["/v1/init", "/v1/completions", ...renewed, ...renewed])
  }),
)

it.effect("fifty requests at once through one client share sessions and all succeed", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy({ settings: { sessionMaxRequests: 7 } })
    const client = proxy.client()
    const answers = yield* Effect.promise(() =>
      Promise.all(Array.from({ length: 50 }, (_, n) => client.complete({ prompt: `number ${n}` }))),
    )
    assert.deepStrictEqual(
      answers.map(({ completion }) => completion.choices[0]?.message.content),
      Array.from({ length: 50 }, (_, n) => `number ${n}`),
    )
  }),
)

it.effect("sessions that live shorter than the client's margin for renewing them are used all the same", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy({ settings: { sessionTtl: Duration.seconds(2) } })
    const { record, requests } = recording()
    const client = proxy.client({ fetch: record })
    yield* Effect.promise(() => client.complete({ prompt: "one" }))
    yield* Effect.promise(() => client.complete({ prompt: "two" }))
    assert.strictEqual(requests.filter(({ path }) => path === "/v1/completions").length, 2)
    assert.isAtMost(requests.filter(({ path }) => path === "/v1/init").length, 2)
  }),
)
