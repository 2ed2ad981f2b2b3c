/** Requests that are invalid, too large, too slow or too many are refused with problem documents. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Schema } from "effect"
import { IpNetwork } from "effect/net"
import { TestClock } from "effect/testing"
import { Problem } from "../../src/domain/problems/problem.ts"
import { layerEchoWith } from "../support/echo.ts"
import { X25519 } from "../../src/domain/protocol/suites.ts"
import { startProxy } from "../support/proxy.ts"
import { beginSession, INIT, jsonOf, post, seal } from "../support/sealing.ts"
import { openSocket } from "../support/sockets.ts"

const decodeProblem = Schema.decodeUnknownSync(Problem)

/** Decodes a response as a problem document. */
const problemOf = async (response: Response) => {
  assert.match(response.headers.get("content-type") ?? "", /^application\/problem\+json/)
  const problem = decodeProblem(await response.json())
  assert.strictEqual(problem.status, response.status)
  assert.strictEqual(problem.type, `urn:sealgate:problem:${problem.code}`)
  assert.match(problem.code, /^[a-z]+(-[a-z]+)*$/)
  return problem
}

/** Decodes a response from a plain socket as a problem document. */
const rawProblemOf = (text: string) => {
  const [head = "", body = ""] = text.split("\r\n\r\n")
  const [, status = ""] = /^HTTP\/1\.1 (\d{3}) /.exec(head) ?? []
  return problemOf(
    new Response(body, {
      status: Number(status),
      headers: { "content-type": /^content-type: (.*)$/im.exec(head)?.[1] ?? "" },
    }),
  )
}

describe("an invalid request", () => {
  it.live("gets a problem document with the right status", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      yield* Effect.promise(async () => {
        const json = { "content-type": "application/json" }
        const cases: ReadonlyArray<readonly [path: string, init: RequestInit, status: number, code: string]> = [
          ["/nope", {}, 404, "not-found"],
          ["/v1", {}, 404, "not-found"],
          ["/v1/init/x", { method: "POST" }, 404, "not-found"],
          ["/..%2f..%2fetc%2fpasswd", {}, 404, "not-found"],
          ["/v1/init", {}, 405, "method-not-allowed"],
          ["/v1/completions", { method: "PUT", body: "{}" }, 405, "method-not-allowed"],
          ["/health", { method: "DELETE" }, 405, "method-not-allowed"],
          ["/openapi.json", { method: "POST" }, 405, "method-not-allowed"],
          ["/v1/completions", { method: "POST", body: "hello" }, 415, "unsupported-media-type"],
          [
            "/v1/init",
            { method: "POST", headers: { "content-type": "text/xml" }, body: "<a/>" },
            415,
            "unsupported-media-type",
          ],
          ["/v1/completions", { method: "POST", headers: json }, 400, "malformed"],
          ["/v1/completions", { method: "POST", headers: json, body: "" }, 400, "malformed"],
          ["/v1/completions", { method: "POST", headers: json, body: "{" }, 400, "malformed"],
          ["/v1/completions", { method: "POST", headers: json, body: "[]" }, 400, "malformed"],
          ["/v1/completions", { method: "POST", headers: json, body: '"\\ud800"' }, 400, "malformed"],
          ["/v1/completions", { method: "POST", headers: json, body: Uint8Array.of(0xff, 0xfe) }, 400, "malformed"],
          ["/v1/completions", { method: "POST", headers: json, body: "{}" }, 400, "malformed"],
          ["/v1/init", { method: "POST" }, 400, "malformed"],
          [
            "/v1/init",
            { method: "POST", headers: { "content-type": "text/plain" }, body: "{}" },
            415,
            "unsupported-media-type",
          ],
          ...[
            {},
            { ...INIT, client_nonce: "AAAA" },
            { ...INIT, client_nonce: 7 },
            { ...INIT, client_nonce: undefined },
            { ...INIT, suites: undefined },
            { ...INIT, suites: [] },
            { ...INIT, suites: [X25519.id, X25519.id] },
            { ...INIT, suites: Array.from({ length: 9 }, (_, kem) => ({ ...X25519.id, kem })) },
            { ...INIT, suites: [{ ...X25519.id, kem: 65_536 }] },
            { ...INIT, suites: [{ kem: 32 }] },
          ].map(
            (body) =>
              ["/v1/init", { method: "POST", headers: json, body: JSON.stringify(body) }, 400, "malformed"] as const,
          ),
          [
            "/v1/init",
            { method: "POST", headers: json, body: JSON.stringify({ ...INIT, suites: [{ ...X25519.id, kem: 16 }] }) },
            400,
            "no-common-suite",
          ],
          ["/v1/completions", { method: "POST", headers: json, body: "[".repeat(100_000) }, 400, "malformed"],
        ]
        for (const [path, init, status, code] of cases) {
          const response = await fetch(proxy.url + path, init)
          const what = `${init.method ?? "GET"} ${path} ${String(init.body).slice(0, 40)}`
          const problem = await problemOf(response)
          assert.deepStrictEqual([problem.status, problem.code], [status, code], what)
          assert.isFalse(problem.retryable, what)
          assert.strictEqual(response.headers.has("allow"), status === 405, what)
        }
        const refused = await fetch(`${proxy.url}/v1/init`)
        assert.strictEqual(refused.headers.get("allow"), "POST")
        assert.strictEqual((await fetch(`${proxy.url}/ready`, { method: "POST" })).headers.get("allow"), "GET, HEAD")
        // Names all mistakes at once.
        const { errors } = await problemOf(
          await post(proxy, "/v1/completions", { session_id: 1, enc: "AA", ciphertext: "*" }),
        )
        assert.sameMembers(
          (errors ?? []).map(({ path }) => path),
          ["payload.session_id", "payload.enc", "payload.ciphertext"],
        )
        // Unknown members may come with a later version.
        const { body } = await seal(await beginSession(proxy), { prompt: "hello" })
        assert.strictEqual((await post(proxy, "/v1/completions", { ...body, later: true })).status, 200)
        assert.strictEqual((await post(proxy, "/v1/init", { ...INIT, later: true })).status, 200)
      })
    }),
  )

  it.live("is refused if its body is too large, with or without Content-Length", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy({ settings: { maxRequestBytes: 4096 } })
      const session = yield* Effect.promise(() => beginSession(proxy))
      yield* Effect.promise(async () => {
        const { body } = await seal(session, { prompt: "fits" })
        assert.strictEqual((await post(proxy, "/v1/completions", body)).status, 200)
        const large = await post(proxy, "/v1/completions", { ...body, ciphertext: "A".repeat(5000) })
        assert.strictEqual((await problemOf(large)).code, "too-large")
        assert.strictEqual(large.headers.get("connection"), "close")
        // Within the body limit, but above the session's limit.
        const ciphertext = "A".repeat(Math.ceil(((session.maxRequestBytes + 1) * 4) / 12) * 4)
        const over = await problemOf(await post(proxy, "/v1/completions", { ...body, ciphertext }))
        assert.deepStrictEqual([over.status, over.code], [413, "too-large"])
      })
      // Announced: refused before any of it was sent.
      const announced = yield* openSocket(
        proxy.port,
        "POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 99999999\r\n\r\n",
      )
      const refused = yield* Effect.promise(() => announced.ended)
      assert.strictEqual((yield* Effect.promise(() => rawProblemOf(refused))).code, "too-large")
    }),
  )

  it.live("is refused without Content-Length, even if its body is small", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      for (const [path, body] of [
        ["/v1/init", JSON.stringify(INIT)],
        ["/v1/completions", "{}"],
      ] as const) {
        const connection = yield* openSocket(
          proxy.port,
          `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n` +
            `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
        )
        const answer = yield* Effect.promise(() => connection.ended)
        assert.match(answer, /\r\nconnection: close\r\n/i)
        const problem = yield* Effect.promise(() => rawProblemOf(unchunked(answer)))
        assert.deepStrictEqual([problem.status, problem.code], [411, "length-required"])
        assert.include(problem.detail, "Content-Length")
      }
    }),
  )
})

it.live("an init request has a fixed size limit, regardless of the server's", () =>
  Effect.gen(function* () {
    const largest = 16 * 1024
    const proxy = yield* startProxy()
    const sent = (path: string, bytes: number) =>
      Effect.promise(() =>
        fetch(proxy.url + path, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(INIT).padEnd(bytes),
        }),
      )
    assert.strictEqual((yield* sent("/v1/init", largest)).status, 200)
    assert.strictEqual((yield* sent("/v1/completions", largest + 1)).status, 400)
    const head = "POST /v1/init HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    const announced = yield* openSocket(proxy.port, `${head}content-length: ${largest + 1}\r\n\r\n`)
    const answer = yield* Effect.promise(() => announced.ended)
    const problem = yield* Effect.promise(() => rawProblemOf(unchunked(answer)))
    assert.deepStrictEqual([problem.code, problem.detail], ["too-large", `At most ${largest} bytes are accepted.`])
  }),
)

it.live("a body and a head are accepted exactly up to their limits", () =>
  Effect.gen(function* () {
    const largest = 4096
    const proxy = yield* startProxy({ settings: { maxRequestBytes: largest, maxBodyMemory: largest } })
    const head = "POST /v1/init HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\n"
    const statusOf = Effect.fnUntraced(function* (request: string) {
      const connection = yield* openSocket(proxy.port, request)
      return /^HTTP\/1\.1 (\d{3}) /.exec(yield* Effect.promise(() => connection.ended))?.[1]
    })
    for (const [bytes, status] of [
      [largest - 1, "200"],
      [largest, "200"],
      [largest + 1, "413"],
    ] as const) {
      const body = JSON.stringify(INIT).padEnd(bytes)
      assert.strictEqual(
        yield* statusOf(`${head}content-length: ${bytes}\r\n\r\n${body}`),
        status,
        `${bytes} announced`,
      )
    }
    const get = (bytes: number) =>
      `GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx: ${"y".repeat(bytes)}\r\n\r\n`
    assert.strictEqual(yield* statusOf(get(16 * 1024 - 100)), "200")
    assert.strictEqual(yield* statusOf(get(16 * 1024)), "431")
  }),
)

/** A chunked response with one chunk. */
const unchunked = (text: string): string =>
  text.replace(/\r\n\r\n[0-9a-f]+\r\n/i, "\r\n\r\n").replace(/\r\n0?\r?\n?$/, "")

const OK = "GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"

it.live("garbage on a socket gets a problem document or nothing, and other connections go on", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    const garbage: ReadonlyArray<readonly [bytes: string | Uint8Array, status: number]> = [
      ["\r\n\r\nhello\r\n\r\n", 400],
      [Uint8Array.from({ length: 512 }, (_, i) => (i * 89) & 0xff), 400],
      // A TLS handshake on a plain port.
      [Buffer.from("16030100c8010000c403035d", "hex"), 400],
      ["GET / HTTP/9.9\r\n\r\n", 400],
      ["GET /health HTTP/1.1\r\n\r\n", 400],
      ["GET /health HTTP/1.1\r\nhost: localhost\r\nhost y\r\n\r\n", 400],
      ["POST /v1/init HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n", 400],
      [
        "POST /v1/init HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
      ],
      ["POST /v1/init HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n", 411],
      [`GET /health HTTP/1.1\r\nhost: localhost\r\nx: ${"y".repeat(20_000)}\r\n\r\n`, 431],
      [`GET /${"y".repeat(20_000)} HTTP/1.1\r\nhost: localhost\r\n\r\n`, 431],
    ]
    for (const [bytes, status] of garbage) {
      const connection = yield* openSocket(proxy.port, bytes)
      const text = yield* Effect.promise(() => connection.receives(/\}$|\r\n\r\n[^]*\}/))
      const problem = yield* Effect.promise(() => rawProblemOf(unchunked(text)))
      assert.strictEqual(problem.status, status, String(bytes).slice(0, 60))
    }
    // HTTP/1.0, which old load balancers use for checks, requires no Host.
    for (const request of [OK, "GET /health HTTP/1.0\r\n\r\n"]) {
      const healthy = yield* openSocket(proxy.port, request)
      assert.match(yield* Effect.promise(() => healthy.ended), /^HTTP\/1\.1 200 /)
    }
  }),
)

it.live("slow senders of a head or a body get a timeout", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy({
      settings: { headersTimeout: Duration.millis(500), requestTimeout: Duration.millis(1000) },
    })
    const slow = [
      "GET /health HTTP/1.1\r\nhost: localhost\r\nx-slow:",
      "POST /v1/init HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{",
    ]
    yield* Effect.forEach(
      slow,
      Effect.fnUntraced(function* (bytes) {
        const connection = yield* openSocket(proxy.port, bytes)
        // Single bytes must not extend the timeout.
        const trickle = setInterval(() => connection.write(" "), 100)
        const text = yield* Effect.promise(() => connection.ended).pipe(
          Effect.ensuring(Effect.sync(() => clearInterval(trickle))),
        )
        const problem = yield* Effect.promise(() => rawProblemOf(text))
        assert.deepStrictEqual([problem.status, problem.code], [408, "timeout"], bytes)
      }),
      { concurrency: "unbounded", discard: true },
    )
    const silent = yield* openSocket(proxy.port)
    assert.strictEqual(
      yield* Effect.map(
        Effect.promise(() => silent.ended),
        (text) => text.includes("200 OK"),
      ),
      false,
    )
  }),
)

it.live("one client's requests in flight are limited, streams included, until they end", () =>
  Effect.gen(function* () {
    const goOn = yield* Deferred.make<void>()
    const waiting = layerEchoWith((echo) => ({
      request: (request) => Effect.andThen(Deferred.await(goOn), echo.request(request)),
      requestStreamTo: (request, emit) =>
        echo.requestStreamTo(request, (events) => Effect.andThen(emit(events), Deferred.await(goOn))),
    }))
    const proxy = yield* startProxy({ upstream: waiting, settings: { maxConcurrentPerClient: 2 } })
    yield* Effect.promise(async () => {
      const session = await beginSession(proxy)
      const sealed = await Promise.all([true, false, false].map((stream) => seal(session, { prompt: "x", stream })))
      const [stream, complete, third] = sealed.map(({ body }) => body)
      const streaming = await post(proxy, "/v1/completions", stream)
      const completing = post(proxy, "/v1/completions", complete)
      let refused = await post(proxy, "/v1/completions", third)
      assert.deepStrictEqual([refused.status, (await problemOf(refused.clone())).code], [429, "rate-limited"])
      assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]\d*$/)
      // Sessions are not completions.
      assert.strictEqual((await post(proxy, "/v1/init", INIT)).status, 200)
      await Effect.runPromise(Deferred.succeed(goOn, undefined))
      await streaming.text()
      assert.strictEqual((await completing).status, 200)
      while (refused.status === 429) refused = await post(proxy, "/v1/completions", third)
      assert.strictEqual(refused.status, 200)
    })
  }),
)

describe("rates per client", () => {
  it.effect("are limited separately for sessions and completions, and recover with time", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy({ settings: { rateLimitInit: 3, rateLimitCompletions: 2 } })
      const init = () => post(proxy, "/v1/init", INIT)
      const session = yield* Effect.promise(() => beginSession(proxy))
      const complete = async () => post(proxy, "/v1/completions", (await seal(session, { prompt: "x" })).body)
      yield* Effect.promise(async () => {
        assert.deepStrictEqual([(await init()).status, (await init()).status], [200, 200])
        const refused = await init()
        assert.deepStrictEqual([refused.status, (await problemOf(refused.clone())).code], [429, "rate-limited"])
        assert.isTrue((await problemOf(refused.clone())).retryable)
        assert.strictEqual(refused.headers.get("retry-after"), "20")
        assert.deepStrictEqual([(await complete()).status, (await complete()).status], [200, 200])
        assert.strictEqual((await complete()).status, 429)
      })
      yield* TestClock.adjust("19 seconds")
      assert.strictEqual((yield* Effect.promise(init)).status, 429)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Effect.promise(init)).status, 200)
      assert.strictEqual((yield* Effect.promise(init)).status, 429)
      yield* TestClock.adjust("1 hour")
      const later = yield* Effect.promise(() => Promise.all([1, 2, 3, 4].map(init)))
      assert.deepStrictEqual(later.map(({ status }) => status).sort(), [200, 200, 200, 429])
    }),
  )

  it.effect("ignore X-Forwarded-For from an untrusted address", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy({ settings: { rateLimitInit: 1 } })
      const from = (address: string) =>
        Effect.promise(() => post(proxy, "/v1/init", INIT, { "x-forwarded-for": address }))
      assert.strictEqual((yield* from("192.0.2.1")).status, 200)
      assert.strictEqual((yield* from("192.0.2.2")).status, 429)
    }),
  )

  it.effect("use the last untrusted address of a trusted proxy's X-Forwarded-For, with an IPv6 /64 as one client", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy({
        settings: {
          rateLimitInit: 1,
          trustedProxies: ["127.0.0.0/8", "10.0.0.0/8"].map((network) => IpNetwork.fromStringUnsafe(network)),
        },
      })
      const from = (address: string) =>
        Effect.promise(async () => (await post(proxy, "/v1/init", INIT, { "x-forwarded-for": address })).status)
      const statuses = yield* Effect.forEach(
        [
          "192.0.2.1",
          "192.0.2.1",
          "192.0.2.2",
          // Proxies append to the right of what a client sent.
          "198.51.100.7, 192.0.2.1",
          "192.0.2.2, 10.1.2.3",
          "2001:db8:1:2::1",
          "2001:db8:1:2:ffff::2",
          "2001:db8:1:3::1",
          "::ffff:192.0.2.1",
        ],
        from,
      )
      assert.deepStrictEqual(statuses, [200, 429, 200, 429, 429, 200, 429, 200, 429])
    }),
  )
})

it.live("responses do not reveal the server software", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    yield* Effect.promise(async () => {
      for (const path of ["/health", "/nope", "/v1/init"]) {
        const { headers } = await fetch(proxy.url + path)
        for (const name of ["server", "x-powered-by", "etag"]) assert.isFalse(headers.has(name), `${path} ${name}`)
      }
      assert.strictEqual((await jsonOf(await fetch(`${proxy.url}/health`)))["status"], "ok")
    })
  }),
)
