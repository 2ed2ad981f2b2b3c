/** Behaviour of `createSealedFetch` without a working proxy. */
import { assert, describe, it } from "vitest"
import { createSealedFetch, type Fetch, NoPins, Unreachable } from "../../../src/client/index.ts"
import { failureOf } from "../../support/promises.ts"
import { FakeProxy, json, problem } from "../../support/protocol/FakeProxy.ts"

const PROXY = "http://127.0.0.1:9"
const CHAT = "https://sealed.invalid/v1/chat/completions"
const chat = { method: "POST", body: JSON.stringify({ messages: [{ role: "user", content: "Hi" }] }) }
const pins = ["A".repeat(43)]

/** Answers everything with `body` and remembers what it was asked. */
const answering = (status: number, body: unknown, type = "application/json") => {
  const asked: Array<{ readonly url: string; readonly init: RequestInit }> = []
  const fetch: Fetch = async (url, init) => {
    asked.push({ url, init })
    return Response.json(body, { status, headers: { "content-type": type } })
  }
  return { fetch, asked }
}

const errorOf = async (response: Response) => {
  const { error } = (await response.json()) as { readonly error: Readonly<Record<string, unknown>> }
  return error
}

describe("createSealedFetch", () => {
  it.each([
    ["POST", "/v1/audio/speech"],
    ["POST", "/v1/responses/resp_1/cancel"],
    ["POST", "/v1/threads/thread_1/messages"],
    ["POST", "/v1/messages/batches"],
    ["POST", "/v1/completions"],
    ["GET", "/v1/chat/completions"],
    ["GET", "/v1/chat/completions/chatcmpl-1"],
    ["DELETE", "/v1/models/model-1"],
    ["POST", "/v1/chat/completions/"],
    ["GET", "/"],
  ])("refuses %s %s and sends nothing", async (method, path) => {
    const { asked, fetch } = answering(200, {})
    const response = await createSealedFetch({ baseUrl: PROXY, pins, fetch })(`https://sealed.invalid${path}`, {
      method,
    })
    assert.strictEqual(response.status, 404)
    assert.strictEqual((await errorOf(response))["code"], "not_sealable")
    assert.strictEqual(response.headers.get("x-should-retry"), "false")
    assert.strictEqual(asked.length, 0)
  })

  it.each(["", "Hello", "[]", "null"])("refuses the body %j", async (body) => {
    const { asked, fetch } = answering(200, {})
    const response = await createSealedFetch({ baseUrl: PROXY, pins, fetch })(CHAT, { method: "POST", body })
    assert.strictEqual(response.status, 400)
    assert.strictEqual(asked.length, 0)
  })

  it("takes a Request as well as a URL with options, and passes none of its headers on", async () => {
    const { asked, fetch } = answering(429, { title: "Too many requests.", code: "rate-limited", status: 429 })
    const send = createSealedFetch({ baseUrl: `${PROXY}/`, pins, fetch })
    const headers = { authorization: "Bearer secret", "x-team": "secret" }
    await send(new Request(CHAT, { ...chat, headers }))
    await send(new URL(CHAT), { ...chat, headers })
    assert.deepStrictEqual(
      asked.map(({ url }) => url),
      [`${PROXY}/v1/init`, `${PROXY}/v1/init`],
    )
    assert.notInclude(JSON.stringify(asked), "secret")
  })

  it.each([200, 204, 302, 999, -1, 0])(
    "does not return a refusal that claims the status %d as a success",
    async (status) => {
      const { fetch } = answering(500, { title: "All is well.", code: "fine", status }, "application/problem+json")
      const response = await createSealedFetch({ baseUrl: PROXY, pins, fetch })(CHAT, chat)
      assert.strictEqual(response.status, 502)
      assert.strictEqual((await errorOf(response))["type"], "server_error")
    },
  )

  it("rejects an invalid URL, as fetch does", async () => {
    const { asked, fetch } = answering(200, {})
    const rejected = createSealedFetch({ baseUrl: PROXY, pins, fetch })("http://")
    assert.instanceOf(await failureOf(rejected), TypeError)
    assert.strictEqual(asked.length, 0)
  })

  it.each([
    ["under seal is the proxy's word", true, "true"],
    ["without a seal is anybody's", false, "false"],
  ])("makes an SDK retry only if a refusal %s", async (_, sealed, expected) => {
    const proxy = new FakeProxy()
    const refusal = { ...problem(429, "rate-limited"), retryable: true }
    if (sealed) proxy.script = { refuse: { problem: refusal } }
    else
      proxy.hooks = {
        respond: (path) =>
          path === "/v1/completions" ? json(refusal, 429, { "content-type": "application/problem+json" }) : undefined,
      }
    const response = await createSealedFetch({ baseUrl: PROXY, pins: [proxy.identity.kid], fetch: proxy.fetch })(
      CHAT,
      chat,
    )
    assert.strictEqual(response.status, 429)
    assert.strictEqual(response.headers.get("x-should-retry"), expected)
  })

  it.each([
    ["another vendor's error has no code", { type: "invalid_request_error", message: "Too long." }],
    ["a server's error is but a message", { message: "Too long." }],
    ["a server repeats the status as its code", { message: "Too long.", type: "invalid_request_error", code: 400 }],
    ["a server has none", { message: "Too long.", type: "invalid_request_error", code: null }],
  ])("keeps the known code if %s", async (_, provider_error) => {
    const proxy = new FakeProxy()
    proxy.script = { refuse: { problem: { ...problem(400, "context-too-long"), provider_error } } }
    const send = createSealedFetch({ baseUrl: PROXY, pins: [proxy.identity.kid], fetch: proxy.fetch })
    assert.deepStrictEqual(await errorOf(await send(CHAT, chat)), {
      message: "Too long.",
      type: "invalid_request_error",
      param: null,
      code: "context_length_exceeded",
    })
  })

  it("does not make an SDK retry a permanent refusal that came after a first part", async () => {
    const proxy = new FakeProxy()
    const payloads = [{ deltas: [{ choices: [] }] }]
    const send = createSealedFetch({
      baseUrl: PROXY,
      pins: [proxy.identity.kid],
      fetch: proxy.fetch,
      release: "verified",
    })
    const body = JSON.stringify({ messages: [{ role: "user", content: "Hi" }], stream: true })
    for (const retryable of [false, true]) {
      proxy.script = { status: "failed", payloads, problem: { ...problem(502, "content-filtered"), retryable } }
      const response = await send(CHAT, { method: "POST", body })
      assert.strictEqual(response.status, 502)
      assert.strictEqual(response.headers.get("x-should-retry"), String(retryable))
    }
  })

  it.each([
    ["whole", false, "streaming"],
    ["streamed", true, "streaming"],
    ["streamed and verified", true, "verified"],
  ] as const)("seals a stale request once more under another id: %s", async (_, stream, release) => {
    const proxy = new FakeProxy()
    const send = createSealedFetch({
      baseUrl: PROXY,
      pins: [proxy.identity.kid],
      release,
      fetch: async (url, init) => {
        const response = await proxy.fetch(url, init)
        if (url.endsWith("/v1/completions")) proxy.script = {}
        return response
      },
    })
    proxy.script = { refuse: { problem: problem(400, "stale") } }
    const body = JSON.stringify({ messages: [{ role: "user", content: "Hi" }], stream })
    const response = await send(CHAT, { method: "POST", body })
    assert.strictEqual(response.status, 200)
    assert.include(await response.text(), `"finish_reason":"stop"`)
    const ids = proxy.opened.map(({ payload }) => payload["request_id"])
    assert.strictEqual(new Set(ids).size, 2)
    assert.strictEqual(response.headers.get("x-request-id"), ids[1])
    assert.lengthOf(proxy.callsTo("/v1/init"), 2)
  })

  it("passes on the refusal if a request is stale twice, with the last id", async () => {
    const proxy = new FakeProxy()
    proxy.script = { refuse: { problem: problem(400, "stale") } }
    const response = await createSealedFetch({ baseUrl: PROXY, pins: [proxy.identity.kid], fetch: proxy.fetch })(
      CHAT,
      chat,
    )
    assert.strictEqual(response.status, 400)
    assert.lengthOf(proxy.opened, 2)
    assert.strictEqual(response.headers.get("x-request-id"), proxy.opened[1]?.payload["request_id"])
  })

  it("rejects without pins", async () => {
    const { asked, fetch } = answering(200, {})
    assert.instanceOf(await failureOf(createSealedFetch({ baseUrl: PROXY, fetch })(CHAT, chat)), NoPins)
    assert.strictEqual(asked.length, 0)
  })

  it("rejects as fetch does if the proxy is unreachable", async () => {
    const error = await failureOf(createSealedFetch({ baseUrl: PROXY, pins })(CHAT, chat))
    assert.instanceOf(error, TypeError)
    assert.strictEqual(error.message, "fetch failed")
    assert.instanceOf(error.cause, Unreachable)
  })

  it("rejects with the reason of a signal that has fired", async () => {
    const reason = new Error("enough")
    const { fetch } = answering(200, {})
    const error = failureOf(
      createSealedFetch({ baseUrl: PROXY, pins, fetch })(CHAT, { ...chat, signal: AbortSignal.abort(reason) }),
    )
    assert.strictEqual(await error, reason)
  })

  it("lists models with the member that Codex requires, but only for Codex", async () => {
    const listed = async (query: string) => {
      const fetch = createSealedFetch({ baseUrl: PROXY, pins, models: ["m"] })
      return Object.keys(Object(await (await fetch(`https://sealed.invalid/v1/models${query}`)).json()))
    }
    assert.deepStrictEqual(await listed(""), ["object", "data"])
    assert.deepStrictEqual(await listed("?client_version=0.99.0"), ["object", "data", "models"])
  })

  it("reports a proxy that lists no models", async () => {
    const { fetch } = answering(200, { hello: "world" })
    const response = await createSealedFetch({ baseUrl: PROXY, pins, fetch })("https://sealed.invalid/v1/models")
    assert.strictEqual(response.status, 502)
  })
})
