/** Through a seal, the provider gets the caller's exact bytes and the caller the provider's exact answer. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SealedClient } from "../../src/client/index.ts"
import { nativeSetup } from "../support/nativeSetup.ts"
import { failing } from "../support/promises.ts"
import { beginSession, jsonOf, post, seal } from "../support/sealing.ts"

/** JSON as no serializer writes it. */
const ODD = `{ "z": 1.0, "model":"m\\u006f" ,\t"a": [1E2, -0, 0.10, 12345678901234567890, 1e-400], "\\u0065": "\\/ \\ud83e\\uddad 🦭",
  "messages": [{"role": "user", "content": "caf\\u00e9"}], "input": "x", "max_tokens": 5, "n": null, "0": {}, "10": [ ] }
`

const MIB = 1024 * 1024

/** A request of the API `messages` that has so many bytes. */
const messageOf = (bytes: number): string => {
  const empty = JSON.stringify({ model: "m", max_tokens: 5, messages: [{ role: "user", content: "" }] })
  const content = "Seals sleep in the water. ".repeat(bytes / 26 + 1).slice(0, bytes - empty.length)
  return empty.replace('""', JSON.stringify(content))
}

const ANSWERS = {
  "/chat/completions": `{"id": "c","object":"chat.completion", "created":1, "model":"mo", "choices":[{"index":0, "message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}`,
  "/v1/messages": `{ "type":"message", "content":[{"type":"tool_use","id":"t","name":"n","input":{"x":1.0,"y":12345678901234567890}}], "stop_reason":"tool_use", "usage":{"input_tokens":1,"output_tokens":1}}`,
  "/v1/messages/count_tokens": `{"input_tokens":5, "more": 1.50}`,
  "/responses": `{"object":"response", "status":"completed","output":[ ],"model":"mo","x":1e2}`,
  "/embeddings": `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.10,1E-3]}],"model":"mo"}`,
}
const PATHS = Object.keys(ANSWERS) as ReadonlyArray<keyof typeof ANSWERS>
const JSON_TYPE = { "content-type": "application/json" }
/** Chat Completions are read and written anew on their way back, as they may be another vendor's. */
const isPassedOn = (path: string): boolean => path !== "/chat/completions"

describe("the bytes of a request and of its answer", () => {
  it.live.each(PATHS)("of %s arrive unchanged, through the connector and through the sealed fetch", (path) =>
    Effect.gen(function* () {
      const { connector, fetch: sealedFetch, native } = yield* nativeSetup()
      native.answer(() => ({ body: ANSWERS[path] }))
      const init = { method: "POST", headers: JSON_TYPE, body: ODD }
      for (const [ask, url] of [
        [fetch, `${connector.url}${path.startsWith("/v1") ? path : `/v1${path}`}`],
        [sealedFetch(), `https://sealed.invalid${path}`],
      ] as const) {
        const response = yield* Effect.promise(() => ask(url, init))
        assert.strictEqual(response.status, 200, yield* Effect.promise(() => response.clone().text()))
        if (isPassedOn(path)) assert.strictEqual(yield* Effect.promise(() => response.text()), ANSWERS[path])
        assert.strictEqual(native.requests.at(-1)?.body.trim(), ODD.trim())
      }
      assert.strictEqual(native.requests.length, 2)
    }),
  )

  it.live("arrive unchanged up to 8 MiB with default settings", () =>
    Effect.gen(function* () {
      const { connector, native } = yield* nativeSetup()
      native.answer(() => ({ body: ANSWERS["/v1/messages"] }))
      const body = messageOf(8 * MIB)
      const response = yield* Effect.promise(() =>
        fetch(`${connector.url}/v1/messages`, { method: "POST", headers: JSON_TYPE, body }),
      )
      assert.strictEqual(response.status, 200)
      assert.strictEqual(body.length, 8 * MIB)
      assert.isTrue(native.requests[0]?.body === body)
    }),
  )

  it.live("are refused above the limit: by the connector before it sends them, and by the proxy", () =>
    Effect.gen(function* () {
      const { connector, native, proxy, wire } = yield* nativeSetup()
      const body = messageOf(9 * MIB)
      const response = yield* Effect.promise(() =>
        fetch(`${connector.url}/v1/messages`, {
          method: "POST",
          headers: { ...JSON_TYPE, "anthropic-version": "2023-06-01" },
          body,
        }),
      )
      assert.strictEqual(response.status, 413)
      const refusal = yield* Effect.promise(() => response.text())
      assert.match(refusal, /"The request is too large: 9\d{6} bytes sealed, at most 9435648 are accepted\."/)
      assert.isBelow(wire.seen().length, MIB)
      const session = yield* Effect.promise(() => beginSession(proxy))
      const unbound = { ...session, maxRequestBytes: Number.POSITIVE_INFINITY }
      yield* Effect.promise(async () => {
        const sent = await seal(unbound, JSON.parse(body) as object)
        const refused = await post(proxy, "/v1/completions", sent.body)
        const problem = await jsonOf(refused)
        assert.deepStrictEqual([refused.status, problem["code"]], [413, "too-large"])
      })
      assert.deepStrictEqual(native.requests, [])
    }),
  )
})

describe("the client", () => {
  it.live("takes JSON text unchanged, and also objects", () =>
    Effect.gen(function* () {
      const { native, proxy } = yield* nativeSetup()
      native.answer(() => ({ body: ANSWERS["/v1/messages"] }))
      const client = new SealedClient({ baseUrl: proxy.url, pins: [proxy.kid] })
      yield* Effect.promise(async () => {
        const { answer, receipt } = await client.messages(ODD)
        assert.deepInclude(answer, { stop_reason: "tool_use" })
        assert.deepStrictEqual(receipt.finish_reasons, ["tool_use"])
        const body = { model: "m", max_tokens: 5, messages: [] }
        await client.request("messages", body, { headers: { "anthropic-beta": "some-2026-01-01" } })
        assert.deepStrictEqual(
          native.requests.map((request) => request.body.trim()),
          [ODD.trim(), JSON.stringify(body)],
        )
        assert.strictEqual(native.requests[1]?.headers["anthropic-beta"], "some-2026-01-01")
        native.answer(() => ({ body: '{"input_tokens":7}' }))
        assert.deepStrictEqual((await client.countTokens(body)).answer, { input_tokens: 7 })
      })
    }),
  )

  it.live.each<readonly [string, string]>([
    ["two values", '{"model":"m"},"api":"responses"'],
    ["a list", "[]"],
    ["no JSON", "{"],
    ["a stream, where a whole answer is asked for", '{"stream":true}'],
    ["a whole answer, where a stream is asked for", '{"stream":false}'],
  ])("seals no text that is %s", ([what, text]) =>
    Effect.gen(function* () {
      const { native, proxy } = yield* nativeSetup()
      const client = new SealedClient({ baseUrl: proxy.url, pins: [proxy.kid] })
      const ask = (): Promise<unknown> =>
        what.startsWith("a whole") ? client.requestStream("messages", text) : client.messages(text)
      const error = yield* failing(ask())
      assert.instanceOf(error, TypeError)
      assert.strictEqual(native.requests.length, 0)
    }),
  )
})
