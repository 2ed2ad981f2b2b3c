import { afterEach, assert, beforeEach, describe, it, vi } from "@effect/vitest"
import {
  KeyMissing,
  NoPins,
  PinMismatch,
  proveExchange,
  SealedClient,
  type SealedClientOptions,
  SealedProblem,
  Tampered,
  Unreachable,
} from "../../../src/client/index.ts"
import { MAX_BODY_BYTES } from "../../../src/client/transport/transport.ts"
import { FakeProxy, json, JSON_TYPE, problem, refusal, SEALED_TYPE } from "../../support/protocol/FakeProxy.ts"
import { b64u, fromB64u, identityFrom, SUITE_IDS } from "../../support/protocol/reference.ts"

const NOW = 1_767_225_600_000
const INIT = "/v1/init"
const COMPLETIONS = "/v1/completions"

let proxy: FakeProxy
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW })
  proxy = new FakeProxy()
})
afterEach(() => {
  vi.useRealTimers()
})

const connect = (options: Partial<SealedClientOptions> = {}) =>
  new SealedClient({ baseUrl: "https://proxy.test/", pins: [proxy.identity.kid], fetch: proxy.fetch, ...options })

/** The error of a promise that must not succeed. */
const failure = (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    () => assert.fail("it succeeded"),
    (error: unknown) => (error instanceof Error ? error : assert.fail("it threw something that is no error")),
  )

const problemOf = async (promise: Promise<unknown>): Promise<SealedProblem> => {
  const error = await failure(promise)
  return error instanceof SealedProblem ? error : assert.fail(`a problem was due, but ${String(error)} came`)
}

const HELLO = { prompt: "Hello there" }
const pass = (milliseconds: number) => vi.setSystemTime(Date.now() + milliseconds)

describe("sessions", () => {
  it("are begun once and used for every request, streams included", async () => {
    const client = connect()
    for (let i = 0; i < 3; i++) {
      const { completion } = await client.complete(HELLO)
      assert.strictEqual(completion.choices[0]?.message.content, "Hello there")
    }
    assert.strictEqual(await (await client.stream(HELLO)).text(), "Hello there")
    assert.strictEqual(proxy.callsTo(INIT).length, 1)
    assert.strictEqual(proxy.callsTo(COMPLETIONS).length, 4)
  })

  it("are shared by requests that begin at once", async () => {
    const client = connect()
    await Promise.all(Array.from({ length: 30 }, () => client.complete(HELLO)))
    assert.strictEqual(proxy.callsTo(INIT).length, 1)
  })

  it("serve no more requests than they allow, however many come at once", async () => {
    proxy.maxRequests = 3
    const client = connect()
    // The proxy throws when a session is used too often.
    await Promise.all(Array.from({ length: 10 }, () => client.complete(HELLO)))
    assert.strictEqual(proxy.callsTo(INIT).length, 4)
    await Promise.all(Array.from({ length: 2 }, () => client.complete(HELLO)))
    assert.strictEqual(proxy.callsTo(INIT).length, 4)
  })

  it("are renewed once, shortly before they expire", async () => {
    const client = connect()
    await client.complete(HELLO)
    pass(290_000)
    await client.complete(HELLO)
    assert.strictEqual(proxy.callsTo(INIT).length, 1)
    pass(5_000)
    await Promise.all(Array.from({ length: 10 }, () => client.complete(HELLO)))
    assert.strictEqual(proxy.callsTo(INIT).length, 2)
  })

  it("must last at least two seconds", async () => {
    proxy.ttlSeconds = 2
    assert.strictEqual((await connect().complete(HELLO)).receipt.form, "complete")
    proxy.ttlSeconds = 1
    assert.match((await failure(connect().complete(HELLO))).message, /expired before it could be used/)
  })

  it("may be short", async () => {
    proxy.ttlSeconds = 4
    const client = connect()
    await client.complete(HELLO)
    await client.complete(HELLO)
    assert.strictEqual(proxy.callsTo(INIT).length, 1)
    pass(4_000)
    await client.complete(HELLO)
    assert.strictEqual(proxy.callsTo(INIT).length, 2)
  })

  it.each([
    [359_000, 2],
    [361_000, 1],
  ])(
    "that have ended are replaced once: if the new offer takes %d ms, the request is sealed %d times",
    async (late, sealed) => {
      let begun = 0
      proxy.hooks = {
        respond: (path, _, call) => {
          // Somebody holds the offer of the second session up.
          if (path === INIT && ++begun === 2) pass(late)
          return path === COMPLETIONS && call === 1 ? refusal(410, "session-gone") : undefined
        },
      }
      const outcome = await connect()
        .complete(HELLO)
        .catch((error: unknown) => error)
      assert.strictEqual(outcome instanceof SealedProblem, sealed === 1)
      assert.strictEqual(proxy.callsTo(COMPLETIONS).length, sealed)
    },
  )

  it("that ended for many requests at once are renewed once for all of them", async () => {
    const client = connect()
    await client.complete(HELLO)
    proxy.forgetSessions()
    await Promise.all(Array.from({ length: 10 }, () => client.complete(HELLO)))
    assert.strictEqual(proxy.callsTo(INIT).length, 2)
  })

  it("that were already renewed are not renewed again for a slower request", async () => {
    let gone = 0
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const client = connect({
      fetch: async (url, init) => {
        const response = await proxy.fetch(url, init)
        if (response.status === 410 && ++gone === 2) await released
        return response
      },
    })
    await client.complete(HELLO)
    proxy.forgetSessions()
    const both = [client.complete(HELLO), client.complete(HELLO)]
    await Promise.race(both)
    release()
    await Promise.all(both)
    assert.strictEqual(gone, 2)
    assert.strictEqual(proxy.callsTo(INIT).length, 2)
  })

  it("that could not be begun are retried by the next request", async () => {
    const client = connect()
    let served = 0
    for (const wrong of [
      () => new Response("<html>", { status: 502 }),
      () => {
        throw new TypeError("fetch failed")
      },
      () => {
        throw new DOMException("The proxy's own library gave up.", "AbortError")
      },
    ]) {
      proxy.hooks = { respond: wrong }
      await Promise.all([failure(client.complete(HELLO)), failure(client.complete(HELLO))])
      assert.strictEqual(proxy.callsTo(COMPLETIONS).length, served)
      proxy.hooks = {}
      await client.complete(HELLO)
      pass(300_000)
      served++
    }
  })

  it.each([
    ["answers", () => new Promise<Response>(() => undefined)],
    ["ends its answer", async () => new Response(new ReadableStream())],
  ])("that nobody %s are given up after 30 seconds, and the next request begins another", async (_, hang) => {
    const limit = new AbortController()
    const timeout = vi.spyOn(AbortSignal, "timeout").mockReturnValue(limit.signal)
    try {
      let hangs = true
      const client = connect({
        fetch: async (url, init) => {
          if (!hangs || !url.endsWith(INIT)) return proxy.fetch(url, init)
          hangs = false
          return heeding(await Promise.race([hang(), fired(init.signal)]), init.signal)
        },
      })
      const waiting = [failure(client.complete(HELLO)), failure(client.complete(HELLO))]
      await new Promise((resolve) => setImmediate(resolve))
      assert.deepStrictEqual(timeout.mock.calls, [[30_000]])
      limit.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError"))
      for (const error of await Promise.all(waiting)) {
        assert.isTrue(error instanceof Unreachable && !error.mayHaveBeenServed, String(error))
        assert.include(error.message, "no answer in time")
      }
      timeout.mockRestore()
      await client.complete(HELLO)
      assert.strictEqual(proxy.callsTo(INIT).length, 1)
    } finally {
      timeout.mockRestore()
    }
  })

  it("are not begun twice if the first caller aborts", async () => {
    const client = connect()
    const controller = new AbortController()
    const first = failure(client.complete(HELLO, { signal: controller.signal }))
    const second = client.complete(HELLO)
    controller.abort()
    assert.strictEqual((await first).name, "AbortError")
    await second
    assert.strictEqual(proxy.callsTo(INIT).length, 1)
    assert.strictEqual(proxy.callsTo(COMPLETIONS).length, 1)
  })
})

/** Rejects as `fetch` does when its signal fires. */
const fired = (signal: AbortSignal | null | undefined): Promise<never> =>
  new Promise((_, reject) => {
    if (signal?.aborted === true) reject(signal.reason)
    signal?.addEventListener("abort", () => reject(signal.reason))
  })

/** `response` with a body that breaks as one of `fetch` does when its signal fires. */
const heeding = (response: Response, signal: AbortSignal | null | undefined): Response => {
  const body = new ReadableStream({
    start: (controller) => void fired(signal).catch((error) => controller.error(error)),
  })
  return new Response(body, response)
}

describe("the clock", () => {
  it.each([0, 3_600_000, -3_600_000, 86_400_000 * 365])(
    "of the proxy is followed when it is off by %d ms",
    async (skew) => {
      proxy.skew = skew
      const client = connect()
      await client.complete(HELLO)
      pass(60_000)
      await client.complete(HELLO)
      assert.strictEqual(proxy.callsTo(INIT).length, 1)
      const issued = proxy.opened.map(({ payload }) => Number(payload["issued_at"]))
      assert.approximately(issued[0] ?? 0, NOW + skew, 1000)
      assert.approximately(issued[1] ?? 0, NOW + 60_000 + skew, 1000)
      pass(240_000)
      await client.complete(HELLO)
      assert.strictEqual(proxy.callsTo(INIT).length, 2)
    },
  )

  const stale = { refuse: { problem: problem(400, "stale") } }

  it("is measured again when the proxy calls a request stale, and the request is sealed again once", async () => {
    const client = connect({
      fetch: async (url, init) => {
        const response = await proxy.fetch(url, init)
        if (url.endsWith(COMPLETIONS)) proxy.script = {}
        return response
      },
    })
    await client.complete(HELLO)
    proxy.skew = 3_600_000
    proxy.script = stale
    await client.complete(HELLO)
    await client.complete(HELLO)
    assert.strictEqual(proxy.callsTo(INIT).length, 2)
    const issued = proxy.opened.map(({ payload }) => Number(payload["issued_at"]))
    assert.strictEqual(issued.length, 4)
    assert.approximately(issued[1] ?? 0, NOW, 1000)
    assert.approximately(issued[2] ?? 0, NOW + 3_600_000, 1000)
  })

  it("is measured again only once: a request that is stale twice fails", async () => {
    proxy.script = stale
    const client = connect()
    const error = await problemOf(client.complete(HELLO))
    assert.isTrue(error.sealed && error.problem.code === "stale" && !error.mayHaveBeenServed)
    assert.strictEqual(proxy.callsTo(COMPLETIONS).length, 2)
    proxy.script = {}
    await client.complete(HELLO)
    assert.strictEqual(proxy.callsTo(INIT).length, 3)
  })

  it("is measured again when the proxy calls a stream stale, which is read from its beginning, once", async () => {
    const client = connect({
      fetch: async (url, init) => {
        const response = await proxy.fetch(url, init)
        if (url.endsWith(COMPLETIONS)) proxy.script = {}
        return response
      },
    })
    proxy.script = stale
    const stream = await connect().stream(HELLO)
    assert.strictEqual((await problemOf(stream.text())).problem.code, "stale")
    assert.strictEqual(proxy.callsTo(COMPLETIONS).length, 2)
    proxy.script = stale
    const renewed = await client.stream(HELLO)
    assert.notStrictEqual(await renewed.text(), "")
    assert.strictEqual((await renewed.end).receipt.status, "complete")
    assert.strictEqual(proxy.callsTo(COMPLETIONS).length, 4)
  })

  it("is not measured again after an unsealed refusal with stale", async () => {
    proxy.hooks = { respond: (path) => (path === COMPLETIONS ? refusal(400, "stale") : undefined) }
    const client = connect()
    for (let i = 0; i < 2; i++) assert.isFalse((await problemOf(client.complete(HELLO))).sealed)
    assert.strictEqual(proxy.callsTo(INIT).length, 1)
    assert.strictEqual(proxy.callsTo(COMPLETIONS).length, 2)
  })
})

describe("an offer", () => {
  it("takes its claims from the signed statement alone", async () => {
    proxy.hooks = { offer: (offer) => ({ ...offer, public_key: b64u(Buffer.alloc(32, 9)), max_requests: 0 }) }
    await connect().complete(HELLO)
  })

  it("may last a day", async () => {
    proxy.hooks = { session: { claims: (claims) => ({ ...claims, expires_at: NOW / 1000 + 86_400 }) } }
    await connect().complete(HELLO)
  })

  it("is asked for with the post-quantum suite first, and with it alone if no other may serve", async () => {
    const [hybrid, classical] = [SUITE_IDS["MLKEM768-X25519"], SUITE_IDS.X25519]
    const offered = () => proxy.callsTo(INIT).map(({ body }) => body["suites"])
    await connect().complete(HELLO)
    await connect({ suites: ["MLKEM768-X25519"] }).complete(HELLO)
    await connect({ suites: ["X25519", "MLKEM768-X25519"] }).complete(HELLO)
    await connect({ suites: ["X25519"] }).complete(HELLO)
    assert.deepStrictEqual(offered(), [[hybrid, classical], [hybrid], [hybrid, classical], [classical]])
  })
})

describe("pins", () => {
  it("are needed before anything is sent", async () => {
    const client = new SealedClient({ baseUrl: "https://proxy.test", fetch: proxy.fetch })
    assert.instanceOf(await failure(client.complete(HELLO)), NoPins)
    assert.instanceOf(await failure(client.stream(HELLO)), NoPins)
    assert.instanceOf(await failure(connect({ pins: [] }).complete(HELLO)), NoPins)
    assert.strictEqual(proxy.calls.length, 0)
  })

  it("exclude all other identities", async () => {
    const pins = [identityFrom(Buffer.alloc(32, 1)).kid]
    const error = await failure(connect({ pins }).complete(HELLO))
    assert.instanceOf(error, PinMismatch)
    assert.deepInclude({ ...error }, { pins, kid: proxy.identity.kid })
    const empty = await failure(connect({ pins: [""] }).complete(HELLO))
    assert.include(empty.message, "One of the pins is empty; a pin has 43")
    assert.strictEqual(proxy.callsTo(COMPLETIONS).length, 0)
  })

  it("may be several, so that a key can be rotated", async () => {
    const next = identityFrom(Buffer.alloc(32, 1))
    const client = connect({ pins: [proxy.identity.kid, next.kid] })
    await client.complete(HELLO)
    proxy.identity = next
    pass(300_000)
    const { receipt } = await client.complete(HELLO)
    assert.strictEqual(receipt.iss, next.kid)
  })

  it("decide which key of an offer is believed", async () => {
    const stranger = identityFrom(Buffer.alloc(32, 1))
    const offering = (keys: unknown) => {
      proxy.hooks = { offer: (offer) => ({ ...offer, keys }) }
      return connect().complete(HELLO)
    }
    for (const keys of [
      [],
      [stranger.jwk],
      [{ ...stranger.jwk, kid: proxy.identity.kid }],
      [{ ...proxy.identity.jwk, kty: "EC" }],
    ]) {
      const error = await failure(offering(keys))
      assert.instanceOf(error, KeyMissing)
      assert.match(error.message, /sent another key/)
      assert.isFalse(error.mayHaveBeenServed)
    }
    for (const keys of [undefined, "none", [{ ...proxy.identity.jwk, x: "AAAA" }]]) {
      assert.instanceOf(await failure(offering(keys)), Tampered)
    }
    await offering([stranger.jwk, proxy.identity.jwk])
    assert.deepStrictEqual(new Set(proxy.calls.map(({ path }) => path)), new Set([INIT, COMPLETIONS]))
  })

  it("are set by the first identity when it is trusted on first use, and hold from then on", async () => {
    const client = new SealedClient({ baseUrl: "https://proxy.test", trustOnFirstUse: true, fetch: proxy.fetch })
    assert.deepStrictEqual(client.pins, [])
    await client.complete(HELLO)
    const { kid } = proxy.identity
    assert.deepStrictEqual(client.pins, [kid])
    proxy.identity = identityFrom(Buffer.alloc(32, 1))
    pass(300_000)
    assert.instanceOf(await failure(client.complete(HELLO)), PinMismatch)
    assert.deepStrictEqual(client.pins, [kid])
  })

  it("are not set by a first identity whose offer is wrong", async () => {
    const client = new SealedClient({ baseUrl: "https://proxy.test", trustOnFirstUse: true, fetch: proxy.fetch })
    proxy.hooks = { session: { claims: (claims) => ({ ...claims, init_hash: b64u(Buffer.alloc(32)) }) } }
    assert.instanceOf(await failure(client.complete(HELLO)), Tampered)
    assert.deepStrictEqual(client.pins, [])
    assert.deepStrictEqual(client.keySet, { keys: [] })
    proxy.hooks = {}
    proxy.identity = identityFrom(Buffer.alloc(32, 1))
    await client.complete(HELLO)
    assert.deepStrictEqual(
      client.keySet.keys.map(({ kid }) => kid),
      [proxy.identity.kid],
    )
  })

  it("are set once by the first of many concurrent offers", async () => {
    const client = new SealedClient({ baseUrl: "https://proxy.test", trustOnFirstUse: true, fetch: proxy.fetch })
    await Promise.all(Array.from({ length: 5 }, () => client.complete(HELLO)))
    assert.deepStrictEqual(client.pins, [proxy.identity.kid])
    assert.strictEqual(proxy.callsTo(INIT).length, 1)
  })
})

describe("requests", () => {
  it("carry their content inside the seal, and nothing outside", async () => {
    const requestId = "018f3b1e-7c1a-7d2b-8a3c-1f2e3d4c5b6a"
    const { receipt } = await connect().complete(
      { ...HELLO, model: "secret-model" },
      { provider: "provider2", requestId },
    )
    assert.strictEqual(receipt.jti, requestId)
    const [opened] = proxy.opened
    assert.deepInclude(opened?.payload, {
      request_id: requestId,
      provider: "provider2",
      api: "chat.completions",
      body: { prompt: "Hello there", model: "secret-model", stream: false },
    })
    const [call] = proxy.callsTo(COMPLETIONS)
    assert.sameMembers(Object.keys(call?.body ?? {}), ["session_id", "enc", "ciphertext"])
    assert.notInclude(String(call?.init.body), "secret-model")
  })

  it("carry a credential under the seal, and no proof of the exchange shows it", async () => {
    const credentials = ["Bearer first", "Bearer second"]
    const client = connect({ credential: async () => credentials.shift() ?? "" })
    const { evidence } = await client.complete(HELLO)
    await (await client.stream(HELLO)).text()
    await connect().complete(HELLO)
    assert.deepStrictEqual(
      proxy.opened.map(({ credential }) => credential),
      ["Bearer first", "Bearer second", ""],
    )
    assert.notInclude(JSON.stringify([evidence, proxy.calls.map(({ init }) => init)]), "Bearer")
    await proveExchange(evidence, { pins: client.pins, keys: client.keySet })
  })

  it("are sent only to the given address", async () => {
    for (const path of [INIT, COMPLETIONS]) {
      const client = connect({
        fetch: (url, init) => {
          assert.notStrictEqual(init.redirect, "follow")
          if (!url.endsWith(path)) return proxy.fetch(url, init)
          return Promise.resolve(new Response("", { status: 307, headers: { location: "https://elsewhere.test/" } }))
        },
      })
      const error = await failure(client.complete(HELLO))
      assert.instanceOf(error, Unreachable)
      assert.include(error.message, "not followed")
      assert.strictEqual(error.mayHaveBeenServed, path === COMPLETIONS)
    }
  })

  it("have random ids by default", async () => {
    const client = connect()
    await client.complete(HELLO)
    await client.complete(HELLO)
    const ids = proxy.opened.map(({ payload }) => String(payload["request_id"]))
    assert.strictEqual(new Set(ids).size, 2)
    for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  })

  it("may have the largest allowed size", async () => {
    await connect().complete(HELLO)
    const { length } = fromB64u(String(proxy.callsTo(COMPLETIONS)[0]?.body["ciphertext"]))
    proxy.maxRequestBytes = length
    assert.strictEqual((await connect().complete(HELLO)).receipt.form, "complete")
    proxy.maxRequestBytes = length - 1
    assert.strictEqual((await problemOf(connect().complete(HELLO))).problem.code, "too-large")
  })

  it("are not sent if they are too large", async () => {
    const error = await problemOf(connect().complete({ prompt: "x".repeat(70_000) }))
    assert.strictEqual(error.problem.code, "too-large")
    assert.strictEqual(error.problem.status, 413)
    assert.strictEqual(proxy.callsTo(COMPLETIONS).length, 0)
  })

  it("are not sent with a credential of more than 8192 bytes", async () => {
    // Two bytes each: it is bytes that count.
    await connect({ credential: "é".repeat(4096) }).complete(HELLO)
    for (const credential of ["é".repeat(4097), () => "x".repeat(8193)]) {
      const error = await problemOf(connect({ credential }).complete(HELLO))
      assert.deepInclude(error.problem, { code: "too-large", status: 413 })
      assert.match(error.message, /The credential is too long: 819[34] bytes, at most 8192/)
      assert.isFalse(error.mayHaveBeenServed)
    }
    assert.strictEqual(proxy.callsTo(COMPLETIONS).length, 1)
  })

  it("without an answer fail with Unreachable", async () => {
    const client = connect({
      fetch: () => Promise.reject(new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } })),
    })
    const error = await failure(client.complete(HELLO))
    assert.instanceOf(error, Unreachable)
    assert.include(error.message, "could not be reached: nothing listens there.")
  })

  it("that were aborted before are not sent", async () => {
    const client = connect()
    await client.complete(HELLO)
    const options = { signal: AbortSignal.abort() }
    for (const request of [() => client.complete(HELLO, options), () => client.stream(HELLO, options)]) {
      const error = await failure(request())
      assert.strictEqual(error.name, "AbortError")
    }
    assert.strictEqual(proxy.callsTo(COMPLETIONS).length, 1)
  })

  it("reject with the reason of the caller's time limit", async () => {
    const signal = AbortSignal.abort(new DOMException("The operation timed out.", "TimeoutError"))
    assert.strictEqual((await failure(connect().complete(HELLO, { signal }))).name, "TimeoutError")
  })

  it.each([
    ["an error", new Error("user left")],
    ["no error", "user left"],
    ["an error of another request", new Unreachable("Gone.")],
  ])("that were aborted with %s as the reason reject with it, and are sent no more", async (_, reason) => {
    for (const path of [INIT, COMPLETIONS]) {
      for (const at of ["before an answer", "in the middle of one"]) {
        const controller = new AbortController()
        const { signal } = controller
        let sent = 0
        const client = connect({
          fetch: async (url, init) => {
            if (!url.endsWith(path)) return proxy.fetch(url, init)
            sent++
            setImmediate(() => controller.abort(reason))
            return at === "before an answer"
              ? fired(signal)
              : heeding(new Response(null, { headers: SEALED_TYPE }), signal)
          },
        })
        const thrown = await client.complete(HELLO, { signal }).then(
          () => assert.fail("it succeeded"),
          (error: unknown) => error,
        )
        assert.strictEqual(thrown, reason, `${path} ${at}`)
        assert.strictEqual(sent, 1)
      }
    }
  })
})

describe("a body without end", () => {
  const PIECE = new Uint8Array(1024 * 1024).fill(32)
  const LIMIT = MAX_BODY_BYTES / PIECE.length

  it.each([
    ["offers a session", INIT, 200],
    ["refuses a session", INIT, 503],
    ["refuses a request", COMPLETIONS, 429],
    ["answers a request", COMPLETIONS, 200],
  ])("is not read when it %s", async (_, path, status) => {
    let pieces = 0
    let hungUp = false
    const endless = () =>
      new ReadableStream<Uint8Array>({
        // Bounded, so that a client that reads on fails its test instead of filling the machine's memory.
        pull: (controller) => (++pieces > 2 * LIMIT ? controller.close() : controller.enqueue(PIECE)),
        cancel: () => {
          hungUp = true
        },
      })
    proxy.hooks = {
      respond: (asked) =>
        asked === path
          ? new Response(endless(), { status, headers: path === COMPLETIONS ? SEALED_TYPE : JSON_TYPE })
          : undefined,
    }
    const error = await failure(connect().complete(HELLO))
    assert.instanceOf(error, Tampered)
    assert.include(error.message, "too large")
    assert.isAtMost(pieces, LIMIT + 2)
    assert.isTrue(hungUp)
  })
})

describe("problems", () => {
  const refuse = (problem: object) => {
    proxy.script = { refuse: { problem: { ...problem } } }
  }

  it("under seal are reported as sealed, with their receipt", async () => {
    const failed = { ...problem(422, "provider-not-configured"), detail: "Ask for another.", retry_after_ms: 7000 }
    refuse(failed)
    for (const request of [() => connect().complete(HELLO), async () => (await connect().stream(HELLO)).text()]) {
      const error = await problemOf(request())
      assert.isTrue(error.sealed)
      assert.isFalse(error.mayHaveBeenServed)
      assert.deepStrictEqual<object>(error.problem, failed)
      assert.strictEqual(error.retryAfterMs, 7000)
      assert.deepInclude(error.receipt, { status: "failed", provider: null, model: null })
    }
  })

  it("without a seal are reported as unsealed", async () => {
    const answers: ReadonlyArray<readonly [Response, string]> = [
      [refusal(429, "rate-limited", { "retry-after": "3" }), "rate-limited"],
      [json(problem(429, "rate-limited"), 429), "unknown"],
      [new Response("<html>Bad gateway</html>", { status: 502 }), "unknown"],
      [json([], 500), "unknown"],
      [new Response(null, { status: 503 }), "unknown"],
    ]
    for (const [response, code] of answers) {
      proxy.hooks = { respond: (path) => (path === COMPLETIONS ? response : undefined) }
      const error = await problemOf(connect().complete(HELLO))
      assert.isFalse(error.sealed)
      assert.strictEqual(error.problem.code, code)
      assert.strictEqual(error.problem.status, response.status)
    }
  })

  it("are reported if a session cannot begin", async () => {
    proxy.hooks = { respond: () => refusal(503, "draining", { "retry-after": "1" }) }
    const error = await problemOf(connect().complete(HELLO))
    assert.strictEqual(error.problem.code, "draining")
    assert.strictEqual(error.retryAfterMs, 1000)
  })
})

describe("a complete answer", () => {
  it("that breaks off is refused", async () => {
    proxy.hooks = {
      respond: (path) =>
        path === COMPLETIONS
          ? new Response(new ReadableStream({ pull: (controller) => controller.error(new TypeError("terminated")) }), {
              headers: SEALED_TYPE,
            })
          : undefined,
    }
    assert.instanceOf(await failure(connect().complete(HELLO)), Unreachable)
  })
})

describe.each([false, true])("a receipt (streamed: %s)", (streamed) => {
  const request = async () => {
    const client = connect()
    if (!streamed) return client.complete(HELLO)
    const stream = await client.stream(HELLO)
    await stream.text()
    return stream.end
  }

  it("that is correct is returned with its claims", async () => {
    const { receipt, statements } = await request()
    assert.deepInclude(receipt, { provider: "provider1", model: "model-1", form: streamed ? "stream" : "complete" })
    assert.strictEqual(statements.receipt.split(".").length, 3)
  })

  it("may order the members of its usage differently from the end record", async () => {
    const usage = { a: { b: 1, c: [1, { d: null }] }, e: 2 }
    proxy.script = { usage }
    proxy.hooks = { record: (record) => ({ ...record, usage: { e: 2, a: { c: [1, { d: null }], b: 1 } } }) }
    assert.deepStrictEqual<unknown>((await request()).receipt.usage, usage)
    for (const other of [
      { ...usage, e: 3 },
      { a: usage.a },
      { ...usage, f: 1 },
      { a: { b: 1, c: [1] }, e: 2 },
      { a: { b: 1, c: [1, { d: 0 }] }, e: 2 },
      { a: { b: 1, c: [1, { toString: null }] }, e: 2 },
      [usage],
    ]) {
      proxy.hooks = { record: (record) => ({ ...record, usage: other }) }
      assert.instanceOf(await failure(request()), Tampered, JSON.stringify(other))
    }
  })
})
