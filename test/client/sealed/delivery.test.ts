/** Retries and errors of requests without a sealed answer. */
import { assert, beforeEach, describe, it } from "@effect/vitest"
import {
  type Fetch,
  PinMismatch,
  SealedClient,
  SealedProblem,
  type SealgateError,
  StreamTruncated,
  Tampered,
  Unreachable,
} from "../../../src/client/index.ts"
import { BREAK } from "../../../src/conformance/lyingProxy/Lie.ts"
import { failureOf } from "../../support/promises.ts"
import { FakeProxy, type Hooks, problem, refusal } from "../../support/protocol/FakeProxy.ts"

const INIT = "/v1/init"
const COMPLETIONS = "/v1/completions"
const HELLO = { prompt: "Hello there" }
const BAD_GATEWAY = () => new Response("<html>502 Bad Gateway</html>", { status: 502 })

let proxy: FakeProxy
beforeEach(() => {
  proxy = new FakeProxy()
})

const connect = (fetch: Fetch = proxy.fetch) =>
  new SealedClient({ baseUrl: "https://proxy.test", pins: [proxy.identity.kid], fetch })

// Everything that these tests provoke is one of the client's own errors.
const failure = async (promise: Promise<unknown>) => (await failureOf(promise)) as SealgateError

/** Answers the first completions with these, in order, and the others as the proxy does. */
const answerFirst = (...answers: ReadonlyArray<() => Response>) => {
  proxy.hooks = { respond: (path, _, call) => (path === COMPLETIONS ? answers[call - 1]?.() : undefined) }
}

const bodies = () => proxy.callsTo(COMPLETIONS).map(({ init }) => String(init.body))
const sessionsOf = () => proxy.callsTo(COMPLETIONS).map(({ body }) => body["session_id"])

/** Fails like Node's `fetch`. */
const systemError = (code: string) => new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) })

describe("the route header", () => {
  it("has the first four characters of the session's id and is sent only with requests", async () => {
    const client = connect()
    await client.complete(HELLO)
    await (await client.stream(HELLO)).text()
    const routes = proxy.calls.map(({ init, path }) => [path, new Headers(init.headers).get("sealgate-route")])
    const [id] = sessionsOf()
    const route = String(id).slice(0, 4)
    assert.strictEqual(route.length, 4)
    assert.deepStrictEqual(routes, [
      [INIT, null],
      [COMPLETIONS, route],
      [COMPLETIONS, route],
    ])
  })
})

describe("a request that was not served", () => {
  it.each([
    ["the session is gone", () => refusal(410, "session-gone")],
    ["the proxy drains", () => refusal(503, "draining", { "retry-after": "1" })],
  ])("is sealed again once in a new session because %s", async (_, refuse) => {
    answerFirst(refuse)
    await connect().complete(HELLO)
    const [first, second, ...more] = sessionsOf()
    assert.notStrictEqual(first, second)
    assert.strictEqual(more.length, 0)
    assert.strictEqual(proxy.callsTo(INIT).length, 2)
  })

  it("is not sealed a third time", async () => {
    for (const [status, code] of [
      [410, "session-gone"],
      [503, "draining"],
    ] as const) {
      const refuse = () => refusal(status, code)
      proxy = new FakeProxy()
      answerFirst(refuse, refuse)
      const error = await failure(connect().complete(HELLO))
      assert.instanceOf(error, SealedProblem)
      assert.isFalse(error.mayHaveBeenServed)
      assert.strictEqual(bodies().length, 2)
    }
  })

  it.each([
    [400, "malformed"],
    [400, "unopenable"],
    [413, "too-large"],
    [429, "rate-limited"],
  ])("is not repeated after %d %s, and its error says that nothing was served", async (status, code) => {
    answerFirst(() => refusal(status, code))
    const error = await failure(connect().complete(HELLO))
    assert.isFalse(error.mayHaveBeenServed)
    assert.strictEqual(bodies().length, 1)
  })

  it("is not repeated without a connection, and its error says that nothing was served", async () => {
    for (const code of ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]) {
      let sent = 0
      const error = await failure(
        connect(async (url, init) => {
          if (!url.endsWith(COMPLETIONS)) return proxy.fetch(url, init)
          sent++
          throw systemError(code)
        }).complete(HELLO),
      )
      assert.instanceOf(error, Unreachable)
      assert.isFalse(error.mayHaveBeenServed, code)
      assert.strictEqual(sent, 1)
    }
  })

  it("has an error that says so if no session could be begun", async () => {
    const broken = () =>
      new Response(new ReadableStream({ pull: (controller) => controller.error(new TypeError("terminated")) }))
    for (const respond of [BAD_GATEWAY, broken, () => refusal(503, "draining")]) {
      proxy.hooks = { respond: (path) => (path === INIT ? respond() : undefined) }
      assert.isFalse((await failure(connect().complete(HELLO))).mayHaveBeenServed)
    }
    const error = await failure(connect(() => Promise.reject(systemError("ECONNRESET"))).complete(HELLO))
    assert.isFalse(error.mayHaveBeenServed)
    proxy.hooks = { session: { claims: (claims) => ({ ...claims, init_hash: "A".repeat(43) }) } }
    const tampered = await failure(connect().complete(HELLO))
    assert.isTrue(tampered instanceof Tampered && !tampered.mayHaveBeenServed)
    assert.strictEqual(bodies().length, 0)
  })

  it("has an error that says so if the proxy is not pinned", async () => {
    const pins = ["A".repeat(43)]
    const client = new SealedClient({ baseUrl: "https://proxy.test", pins, fetch: proxy.fetch })
    const error = await failure(client.complete(HELLO))
    assert.instanceOf(error, PinMismatch)
    assert.isFalse(error.mayHaveBeenServed)
  })
})

describe("a request that may have been served", () => {
  const doubts: ReadonlyArray<readonly [string, () => Response]> = [
    ["a balancer gave up (502)", BAD_GATEWAY],
    ["a balancer gave up (504)", () => new Response("<html>504</html>", { status: 504 })],
    [
      "the connection was reset",
      () => {
        throw systemError("ECONNRESET")
      },
    ],
    [
      "a browser says no more",
      () => {
        throw new TypeError("Failed to fetch")
      },
    ],
  ]

  it.each(doubts)("is sent again in the same bytes because %s", async (_, fail) => {
    answerFirst(fail)
    const { completion } = await connect().complete(HELLO)
    assert.strictEqual(completion.choices[0]?.message.content, "Hello there")
    const [first, second, ...more] = bodies()
    assert.strictEqual(first, second)
    assert.strictEqual(more.length, 0)
    assert.strictEqual(proxy.opened.length, 1)
  })

  it.each(doubts)("fails with the first error (%s) if the second copy is refused", async (_, fail) => {
    const refusals = [
      () => refusal(409, "replayed"),
      () => refusal(410, "session-gone"),
      () => refusal(503, "draining"),
      () => refusal(429, "rate-limited"),
      fail,
    ]
    for (const refuse of refusals) {
      proxy = new FakeProxy()
      answerFirst(fail, refuse)
      const client = connect()
      const error = await failure(client.complete(HELLO))
      assert.isTrue(error.mayHaveBeenServed)
      assert.notInclude(["replayed", "session-gone", "draining", "rate-limited"], codeOf(error))
      assert.strictEqual(bodies().length, 2)
      assert.strictEqual(proxy.opened.length, 0)
      // The next request uses a new session.
      await client.complete(HELLO)
      assert.strictEqual(new Set(sessionsOf()).size, 2)
    }
  })

  it("has another error than a request that the proxy refused under seal with the same status", async () => {
    proxy.script = { refuse: { problem: problem(502, "upstream-unavailable"), provider: "provider1" } }
    const client = connect()
    const error = await failure(client.complete(HELLO))
    assert.isTrue(error instanceof SealedProblem && error.sealed)
    assert.isTrue(error.mayHaveBeenServed)
    assert.strictEqual(bodies().length, 1)
    // A proxy that answers under seal still has the session.
    proxy.script = {}
    await client.complete(HELLO)
    assert.strictEqual(proxy.callsTo(INIT).length, 1)
  })

  it.each([
    [400, "invalid-request", false],
    [429, "rate-limited", false],
    [408, "upstream-timeout", true],
    [503, "draining", true],
    [504, "upstream-timeout", true],
  ])("follows from a sealed %d %s: %s", async (httpStatus, code, expected) => {
    proxy.script = { refuse: { problem: problem(httpStatus, code), provider: "provider1" } }
    assert.strictEqual((await failure(connect().complete(HELLO))).mayHaveBeenServed, expected)
    assert.strictEqual(bodies().length, 1)
  })

  it("is not sent again after a fault of the proxy", async () => {
    answerFirst(() => refusal(500, "internal"))
    const error = await failure(connect().complete(HELLO))
    assert.isTrue(error.mayHaveBeenServed)
    assert.strictEqual(bodies().length, 1)
  })

  it.each<readonly [string, Hooks]>([
    ["altered", { body: (body) => ({ ...body, frames: ["AAAA", body.frames[1]] }) }],
    ["receipted by somebody else", { receipt: { byStranger: "own" } }],
  ])("is one whose answer was %s", async (_, hooks) => {
    proxy.hooks = hooks
    const error = await failure(connect().complete(HELLO))
    assert.isTrue(error.mayHaveBeenServed)
    assert.isTrue(error instanceof Tampered || error instanceof PinMismatch, String(error))
  })

  it("is not sent again after its answer broke off", async () => {
    proxy.hooks = { events: (events) => [...events.slice(0, 2), BREAK] }
    const stream = await connect().stream(HELLO)
    const error = await failure(stream.text())
    assert.instanceOf(error, StreamTruncated)
    assert.isTrue(error.mayHaveBeenServed)
    assert.strictEqual(bodies().length, 1)
  })
})

const codeOf = (error: SealgateError): string => (error instanceof SealedProblem ? error.problem.code : error.code)
