/** The fake upstream follows its script, records requests and refuses those that no vendor accepts. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { Agent } from "node:http"
import { createConnection } from "node:net"
import { type Fake, FakeUpstream, fault, type WireName } from "../support/FakeUpstream.ts"
import { call } from "../support/fake-upstream/RawCaller.ts"

const WIRES: ReadonlyArray<WireName> = ["openai", "anthropic", "gemini"]

/** Sends one request without streaming, and returns the body. */
const ask = async (fake: Fake, wire: WireName, text = "Hello"): Promise<string> => {
  const asked = call(fake.url, wire, { text, stream: false })
  await asked.over
  return asked.text()
}

const openAiRequest = { model: "m", messages: [{ role: "user", content: "Hello" }] }

const post = (fake: Fake, path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${fake.url}${path}`, {
    method: "POST",
    headers: { authorization: "Bearer k", "content-type": "application/json" },
    body: JSON.stringify(openAiRequest),
    ...init,
  })

describe("the script", () => {
  it("gives every reply once in order, then the last `always`", async () => {
    await using fake = await FakeUpstream.start()
    assert.match(await ask(fake, "openai"), /"ok"/)
    fake.script({ text: "first" }, fault.overloaded())
    fake.script({ text: "third" })
    fake.always({ text: "standing" })
    assert.strictEqual(fake.unused, 3)
    assert.match(await ask(fake, "openai"), /"first"/)
    assert.match(await ask(fake, "anthropic"), /overloaded_error/)
    assert.match(await ask(fake, "gemini"), /"third"/)
    assert.strictEqual(fake.unused, 0)
    fake.always({ text: "newer" })
    assert.match(await ask(fake, "openai"), /"newer"/)
    assert.match(await ask(fake, "gemini"), /"newer"/)
  })

  it("prefers conditional replies, in any order of definition", async () => {
    await using fake = await FakeUpstream.start()
    fake.script({ text: "anybody" })
    fake.when({ wire: "anthropic" }).script({ text: "for anthropic" })
    fake.when({ model: "other" }).always({ text: "never" })
    fake.when((asked) => asked.text.includes("magic")).always({ text: "for magic" })
    assert.match(await ask(fake, "openai", "magic!"), /for magic/)
    assert.match(await ask(fake, "anthropic"), /for anthropic/)
    assert.match(await ask(fake, "anthropic"), /anybody/)
    assert.match(await ask(fake, "anthropic"), /"ok"/)
    assert.match(await ask(fake, "openai", "magic!"), /for magic/)
  })

  it("computes replies from requests, so that models can disagree", async () => {
    await using fake = await FakeUpstream.start()
    fake.always(async ({ text, wire }) => (wire === "gemini" ? fault.serverError() : { text: `${wire} says ${text}` }))
    assert.match(await ask(fake, "openai", "no"), /openai says no/)
    assert.match(await ask(fake, "anthropic", "yes"), /anthropic says yes/)
    assert.match(await ask(fake, "gemini"), /"INTERNAL"/)
  })

  it("reports an error of a reply function", async () => {
    const fake = await FakeUpstream.start()
    fake.script(() => {
      throw new Error("a mistake in the test")
    })
    assert.strictEqual((await call(fake.url, "openai").over).over, "broken")
    const error = await fake.close().then(
      () => undefined,
      (error: unknown) => error,
    )
    assert.instanceOf(error, AggregateError)
    assert.match(String(error.errors[0]), /a mistake in the test/)
  })

  it("can claim another model, and omit usage", async () => {
    await using fake = await FakeUpstream.start()
    fake.always({ text: "Hi", model: "m-2031", usage: null, headers: { "x-served-by": "fake" } })
    for (const wire of WIRES) {
      for (const stream of [true, false]) {
        const answer = call(fake.url, wire, { stream })
        const { headers } = await answer.over
        assert.include(answer.text(), "m-2031")
        assert.notMatch(answer.text(), /_tokens"|TokenCount"/)
        assert.strictEqual(headers["x-served-by"], "fake")
      }
    }
  })

  it("can be cleared", async () => {
    await using fake = await FakeUpstream.start()
    fake.script({ text: "gone" })
    fake.always({ text: "gone too" })
    await ask(fake, "openai")
    fake.script({ text: "gone as well" })
    fake.clear()
    assert.deepStrictEqual([fake.unused, fake.requests.length], [0, 0])
    assert.match(await ask(fake, "openai"), /"ok"/)
  })
})

describe("the record", () => {
  it("holds every request with its time, headers, body and parsed form", async () => {
    await using fake = await FakeUpstream.start()
    const before = performance.now()
    await call(fake.url, "gemini", { text: "Grüße" }).over
    const request = await fake.received(1)
    assert.isAtLeast(request.at, before)
    assert.isAtLeast(request.endedAt ?? 0, request.at)
    assert.deepStrictEqual(
      [request.method, request.path, request.query, request.wire],
      ["POST", "/v1beta/models/m:streamGenerateContent", { alt: "sse" }, "gemini"],
    )
    assert.strictEqual(request.headers["x-goog-api-key"], "key")
    assert.deepStrictEqual(request.body, { contents: [{ role: "user", parts: [{ text: "Grüße" }] }] })
    assert.deepStrictEqual([request.asked?.text, request.asked?.stream, request.status], ["Grüße", true, 200])
  })

  it("waits for a request to arrive", async () => {
    await using fake = await FakeUpstream.start()
    fake.always(fault.silence)
    const second = fake.received(2)
    const calls = [call(fake.url, "openai"), call(fake.url, "anthropic")]
    assert.strictEqual((await second).asked?.text, "Hello")
    assert.strictEqual(await second, fake.requests[1])
    for (const { hangUp } of calls) hangUp()
  })

  it("shows when the caller hung up, and which connection was reused", async () => {
    await using fake = await FakeUpstream.start()
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    await call(fake.url, "openai", { agent }).over
    await call(fake.url, "anthropic", { agent }).over
    fake.script({ text: ["one", "two"], delivery: { gap: 60_000 } })
    const own = call(fake.url, "openai")
    await own.until(() => own.text().includes("one"))
    own.hangUp()
    assert.strictEqual(await (await fake.received(3)).ended, "hung-up")
    const [first, second, third] = fake.requests.map((request) => request.connection)
    assert.strictEqual(first, second)
    assert.notStrictEqual(second, third)
    agent.destroy()
  })

  it("shows a caller that left while sending its request", async () => {
    await using fake = await FakeUpstream.start()
    const socket = createConnection(Number(new URL(fake.url).port), "127.0.0.1")
    await new Promise((resolve) => socket.once("connect", resolve))
    socket.write("POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{")
    await new Promise((resolve) => setTimeout(resolve, 20))
    socket.destroy()
    await ask(fake, "openai")
    assert.lengthOf(fake.requests, 1)
  })
})

describe("the fake", () => {
  it("refuses unknown paths, methods, content types and invalid JSON", async () => {
    await using fake = await FakeUpstream.start()
    const status = async (path: string, init?: RequestInit) => (await post(fake, path, init)).status
    const auth = { authorization: "Bearer k" }
    assert.strictEqual(await status("/v1/v1/chat/completions"), 404)
    assert.strictEqual(await status("/chat/completions"), 404)
    assert.strictEqual(await status("/v1beta/models/m:countTokens"), 404)
    assert.strictEqual(await status("/v1/chat/completions", { method: "PUT" }), 405)
    assert.strictEqual(await status("/v1/chat/completions", { headers: { "content-type": "application/json" } }), 401)
    assert.strictEqual(
      await status("/v1/chat/completions", { headers: { ...auth, "content-type": "text/plain" } }),
      400,
    )
    assert.strictEqual(await status("/v1/chat/completions", { body: "{" }), 400)
    assert.strictEqual(await status("/v1beta/models/m:streamGenerateContent?key=k", { body: "{}" }), 400)
    assert.isTrue(fake.requests.every((request) => request.refused !== undefined))
    assert.strictEqual(await status("/v1/chat/completions"), 200)
    assert.strictEqual(fake.requests.at(-1)?.refused, undefined)
  })

  it("uses no scripted reply for a refused request", async () => {
    await using fake = await FakeUpstream.start({ keys: ["other"] })
    fake.script({ text: "kept" })
    assert.strictEqual((await post(fake, "/v1/chat/completions")).status, 401)
    assert.strictEqual(fake.unused, 1)
  })
})

describe("the fake's server", () => {
  it("closes every connection and frees its port", async () => {
    const first = await FakeUpstream.start()
    first.script(fault.silence)
    const silent = call(first.url, "openai")
    await first.received(1)
    await first.close()
    assert.strictEqual((await silent.over).over, "broken")
    assert.strictEqual((await call(first.url, "openai").over).errorCode, "ECONNREFUSED")
    await using second = await FakeUpstream.start({ port: Number(new URL(first.url).port) })
    assert.strictEqual(second.url, first.url)
    assert.match(await ask(second, "openai"), /"ok"/)
  })

  it.live("closes with its scope", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const fake = yield* FakeUpstream.make({ keys: ["key"] }).pipe(Scope.provide(scope))
      assert.match(yield* Effect.promise(() => ask(fake, "openai")), /"ok"/)
      yield* Scope.close(scope, Exit.void)
      const after = yield* Effect.promise(() => call(fake.url, "openai").over)
      assert.strictEqual(after.errorCode, "ECONNREFUSED")
    }),
  )
})
