/** A sealed request is served once, however the path copies it. The tests use a virtual clock. */
import { assert, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import { startProxy } from "../support/proxy.ts"
import { beginSession, jsonOf, post, seal } from "../support/sealing.ts"

const codeOf = async (response: Response) => [response.status, (await jsonOf(response))["code"]]

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
