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
import {
  FakeProxy,
  type Hooks,
  json,
  JSON_TYPE,
  problem,
  refusal,
  SEALED_TYPE,
} from "../../support/protocol/FakeProxy.ts"
import {
  b64u,
  type Claims,
  fromB64u,
  identityFrom,
  jws,
  publicKeyOf,
  statement,
  SUITE_IDS,
} from "../../support/protocol/reference.ts"

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

  it("that are gone are renewed, and the request is sealed again, once", async () => {
    const client = connect()
    await client.complete(HELLO)
    proxy.forgetSessions()
    await client.complete(HELLO)
    assert.strictEqual(proxy.callsTo(INIT).length, 2)
    const [, second, third] = proxy.callsTo(COMPLETIONS)
    assert.notStrictEqual(second?.body["session_id"], third?.body["session_id"])
    assert.notStrictEqual(second?.body["enc"], third?.body["enc"])
  })

  it("that are gone again reject the request", async () => {
    proxy.hooks = { respond: (path) => (path === COMPLETIONS ? refusal(410, "session-gone") : undefined) }
    const error = await problemOf(connect().complete(HELLO))
    assert.strictEqual(error.problem.code, "session-gone")
    assert.isFalse(error.sealed)
    assert.strictEqual(proxy.callsTo(COMPLETIONS).length, 2)
  })

  it.each([
    [359_000, 2],
    [361_000, 1],
  ])("that are gone, and another begun %d ms after the first, are sealed in %d", async (late, sealed) => {
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
  })

  it("that are gone for many at once are renewed once for all of them", async () => {
    const client = connect()
    await client.complete(HELLO)
    proxy.forgetSessions()
    await Promise.all(Array.from({ length: 10 }, () => client.complete(HELLO)))
    assert.strictEqual(proxy.callsTo(INIT).length, 2)
  })

  it("that were renewed already are not renewed again for a request that was slower", async () => {
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

  it("rejects a request that is stale twice", async () => {
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
  /** Nothing is sealed to an offer that is not right. */
  const refused = async (expected: typeof Tampered | typeof PinMismatch = Tampered) => {
    const error = await failure(connect().complete(HELLO))
    assert.isTrue(error instanceof expected, String(error))
    assert.strictEqual(proxy.callsTo(COMPLETIONS).length, 0)
  }

  it("takes its claims from the signed statement alone", async () => {
    proxy.hooks = { offer: () => ({}) }
    await refused()
    proxy.hooks = { offer: (offer) => ({ ...offer, public_key: b64u(Buffer.alloc(32, 9)), max_requests: 0 }) }
    await connect().complete(HELLO)
  })

  it.each([
    "version",
    "iat",
    "session_id",
    "public_key",
    "suite",
    "expires_at",
    "max_requests",
    "max_request_bytes",
    "init_hash",
  ])("that was signed without %s is refused", async (member) => {
    proxy.hooks = { sessionClaims: (claims) => ({ ...claims, [member]: undefined }) }
    await refused()
  })

  it("may last a day", async () => {
    proxy.hooks = { sessionClaims: (claims) => ({ ...claims, expires_at: NOW / 1000 + 86_400 }) }
    await connect().complete(HELLO)
  })

  it.each<readonly [string, Claims]>([
    ["a version that is not known", { version: 1 }],
    ["a KEM that is not known", { suite: { kem: 16, kdf: 1, aead: 2 } }],
    ["a KDF that is not known", { suite: { kem: 32, kdf: 2, aead: 2 } }],
    ["an AEAD that is not known", { suite: { kem: 32, kdf: 1, aead: 3 } }],
    ["the hash of another request", { init_hash: b64u(Buffer.alloc(32)) }],
    ["a hash that is too short", { init_hash: b64u(Buffer.alloc(31)) }],
    ["an end after more than a day", { expires_at: NOW / 1000 + 86_401 }],
    ["an end before its beginning", { expires_at: NOW / 1000 - 1 }],
    ["an end at its beginning", { expires_at: NOW / 1000 }],
    ["a beginning after its end", { iat: NOW / 1000 + 300 }],
    ["no requests", { max_requests: 0 }],
    ["a public key that is too short", { public_key: b64u(Buffer.alloc(31, 9)) }],
    ["a public key of zeros", { public_key: b64u(Buffer.alloc(32)) }],
    ["a session id that is too long", { session_id: b64u(Buffer.alloc(17, 9)) }],
    ["a session id that is no base64url", { session_id: "a".repeat(21) + "=" }],
    ["an end that is no number", { expires_at: "soon" }],
    ["another issuer", { iss: identityFrom(Buffer.alloc(32, 1)).kid }],
  ])("that was signed with %s is refused", async (_, change) => {
    proxy.hooks = { sessionClaims: (claims) => ({ ...claims, ...change }) }
    await refused()
  })

  it.each([
    ["whose X25519 part is of low order", 1184, "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"],
    ["whose X25519 part is not canonical", 1184, "f0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"],
    ["whose X25519 part has a bit too many", 1184, "0900000000000000000000000000000000000000000000000000000000000080"],
    ["whose first coefficient of ML-KEM is not reduced", 0, "010d"],
    ["whose last coefficient of ML-KEM is not reduced", 1150, "ffff"],
  ])("for a key %s seals nothing", async (_, at, bytes) => {
    const spoilt = (claims: Claims) => {
      const key = Buffer.from(String(claims["public_key"]), "base64url")
      key.write(bytes, at, "hex")
      return { ...claims, public_key: b64u(key) }
    }
    proxy.hooks = { sessionClaims: spoilt }
    await refused()
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

  it("of a suite that was not offered is refused, also when somebody on the path took it out of the list", async () => {
    proxy.hooks = {
      sessionClaims: (claims) => ({
        ...claims,
        suite: SUITE_IDS.X25519,
        public_key: b64u(publicKeyOf("X25519", Buffer.alloc(32, 9))),
      }),
    }
    const strict = connect({ suites: ["MLKEM768-X25519"] })
    assert.instanceOf(await failure(strict.complete(HELLO)), Tampered)
    proxy.hooks = {}
    const downgrading = connect({
      fetch: (url, init) => {
        if (!url.endsWith(INIT)) return proxy.fetch(url, init)
        const body = JSON.parse(String(init.body)) as { readonly suites: ReadonlyArray<unknown> }
        return proxy.fetch(url, { ...init, body: JSON.stringify({ ...body, suites: body.suites.slice(1) }) })
      },
    })
    assert.instanceOf(await failure(downgrading.complete(HELLO)), Tampered)
    assert.strictEqual(proxy.callsTo(COMPLETIONS).length, 0)
  })

  it("that is a replay of an older one is refused", async () => {
    let first: unknown
    proxy.hooks = { offer: (offer) => (first ??= offer) }
    const client = connect()
    await client.complete(HELLO)
    pass(296_000)
    assert.instanceOf(await failure(client.complete(HELLO)), Tampered)
    assert.strictEqual(proxy.callsTo(COMPLETIONS).length, 1)
  })

  it.each<readonly [string, (offer: Claims) => unknown]>([
    ["is not JSON", () => "no object"],
    ["holds no statement", (offer) => ({ ...offer, attestation: 5 })],
    ["holds no JWS", (offer) => ({ ...offer, attestation: "a.b" })],
    ["has its signature cut", (offer) => ({ ...offer, attestation: String(offer["attestation"]).slice(0, -4) })],
  ])("that %s is refused", async (_, change) => {
    proxy.hooks = { offer: change }
    await refused()
  })

  it("is refused when anything but the pinned key signed it", async () => {
    const stranger = identityFrom(Buffer.alloc(32, 3))
    const claimsOf = (offer: Claims): Claims => {
      const payload = String(offer["attestation"]).split(".")[1] ?? ""
      return JSON.parse(fromB64u(payload).toString()) as Claims
    }
    const header = { alg: "Ed25519", typ: "sealgate-session+jwt", kid: proxy.identity.kid }
    const forged: ReadonlyArray<(claims: Claims) => string> = [
      (claims) => jws(stranger.seed, header, claims).statement,
      (claims) => jws(stranger.seed, { ...header, jwk: stranger.jwk }, claims).statement,
      (claims) => jws(proxy.identity.seed, { ...header, alg: "EdDSA" }, claims).statement,
      (claims) => jws(proxy.identity.seed, { ...header, alg: "none" }, claims).statement,
      (claims) => jws(proxy.identity.seed, { ...header, typ: "sealgate-proof+jwt" }, claims).statement,
      (claims) => jws(proxy.identity.seed, { ...header, crit: ["exp"] }, claims).statement,
    ]
    for (const forge of forged) {
      proxy.hooks = { offer: (offer) => ({ ...offer, attestation: forge(claimsOf(offer)) }) }
      await refused()
    }
    proxy.hooks = {
      offer: (offer) => ({ ...offer, attestation: statement(stranger, "session", claimsOf(offer)).statement }),
    }
    await refused(PinMismatch)
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

  it("exclude other identities", async () => {
    const pins = [identityFrom(Buffer.alloc(32, 1)).kid]
    const error = await failure(connect({ pins }).complete(HELLO))
    assert.instanceOf(error, PinMismatch)
    assert.deepInclude({ ...error }, { pins, kid: proxy.identity.kid })
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
    proxy.hooks = { sessionClaims: (claims) => ({ ...claims, init_hash: b64u(Buffer.alloc(32)) }) }
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

  it("of the largest allowed size are sent", async () => {
    await connect().complete(HELLO)
    const { length } = fromB64u(String(proxy.callsTo(COMPLETIONS)[0]?.body["ciphertext"]))
    proxy.maxRequestBytes = length
    assert.strictEqual((await connect().complete(HELLO)).receipt.form, "complete")
    proxy.maxRequestBytes = length - 1
    assert.strictEqual((await problemOf(connect().complete(HELLO))).problem.code, "too-large")
  })

  it("that are too large are not sent", async () => {
    const error = await problemOf(connect().complete({ prompt: "x".repeat(70_000) }))
    assert.strictEqual(error.problem.code, "too-large")
    assert.strictEqual(error.problem.status, 413)
    assert.strictEqual(proxy.callsTo(COMPLETIONS).length, 0)
  })

  it("with a credential that no proxy would take are not sent", async () => {
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
  const LIMIT = 64

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
        // It does end, so that a client that reads on fails its test and not the machine.
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

  it("of beginning a session are reported", async () => {
    proxy.hooks = { respond: () => refusal(503, "draining", { "retry-after": "1" }) }
    const error = await problemOf(connect().complete(HELLO))
    assert.strictEqual(error.problem.code, "draining")
    assert.strictEqual(error.retryAfterMs, 1000)
  })

  it.each<readonly [string, Hooks]>([
    [
      "an altered end",
      { frames: ([answer, end = ""]) => [answer, b64u(fromB64u(end).map((byte, i) => (i === 9 ? byte ^ 1 : byte)))] },
    ],
    ["no frame", { frames: () => [] }],
    ["one frame", { frames: ([, end]) => [end] }],
    ["a frame of another form", { form: "stream" }],
    ["an answer", { receipt: (receipt) => receipt }],
    ["no problem", { record: (record) => ({ ...record, problem: undefined }) }],
  ])("with %s are tampering", async (what, hooks) => {
    refuse(problem(422, "unsupported"))
    if (what === "an answer") proxy.script = { ...proxy.script, payloads: [{ id: "c", choices: [] }] }
    proxy.hooks = hooks
    assert.instanceOf(await failure(connect().complete(HELLO)), Tampered)
  })
})

describe("an unsealed success is tampering", () => {
  const completion = { id: "c", object: "chat.completion", created: 1, model: "m", choices: [] }
  it.each([
    ["a completion", () => json(completion)],
    ["a created completion", () => json(completion, 201)],
    ["nothing", () => new Response(null, { status: 204 })],
    ["text", () => new Response("Hello")],
    ["a sealed problem's shape", () => json({ response_nonce: b64u(Buffer.alloc(32)), frames: [] })],
    ["frames that are none", () => json({ response_nonce: b64u(Buffer.alloc(32)), frames: [1, 2] })],
    ["a short nonce", () => json({ response_nonce: b64u(Buffer.alloc(31)), frames: ["AA", "AA"] })],
    [
      "a stream",
      () => new Response("data: {}\n\ndata: [DONE]\n\n", { headers: { "content-type": "text/event-stream" } }),
    ],
  ])("also when it is %s", async (_, respond) => {
    proxy.hooks = { respond: (path) => (path === COMPLETIONS ? respond() : undefined) }
    assert.instanceOf(await failure(connect().complete(HELLO)), Tampered)
    assert.instanceOf(await failure(connect().stream(HELLO)), Tampered)
  })
})

describe("an answer whose seals are all right is still tampering", () => {
  const changing = (change: (response: Response) => ResponseInit) =>
    connect({
      fetch: async (url, init) => {
        const response = await proxy.fetch(url, init)
        return url.endsWith(COMPLETIONS) ? new Response(response.body, change(response)) : response
      },
    })
  const complete = (client: SealedClient) => client.complete(HELLO)
  const stream = async (client: SealedClient) => (await client.stream(HELLO)).text()

  it.each([201, 202, 203, 206, 299])("with status %d", async (status) => {
    const client = changing(({ headers }) => ({ headers, status }))
    assert.match((await failure(complete(client))).message, new RegExp(String(status)))
    assert.instanceOf(await failure(stream(client)), Tampered)
  })

  it.each(["text/plain", "text/html; charset=utf-8", "text/event-streams", "application/jsonp", ""])(
    "with the content type %s",
    async (type) => {
      const client = changing(() => ({ headers: type === "" ? {} : { "content-type": type } }))
      assert.instanceOf(await failure(complete(client)), Tampered)
      assert.instanceOf(await failure(stream(client)), Tampered)
    },
  )

  it.each([0, 4091, 4093, 8187])("with an end record of %d bytes", async (length) => {
    proxy.hooks = { fill: (record) => Buffer.from(record.padEnd(length)) }
    for (const answer of [complete, stream]) {
      const error = await failure(answer(connect()))
      assert.instanceOf(error, Tampered)
      assert.include(error.message, "end record")
    }
  })

  it("refuses an end record of the next size", async () => {
    proxy.hooks = { fill: (record) => Buffer.from(record.padEnd(8188)) }
    assert.strictEqual((await complete(connect())).receipt.form, "complete")
    assert.strictEqual(await stream(connect()), HELLO.prompt)
  })

  it("in the form that was not asked for", async () => {
    const json = changing(() => ({ headers: SEALED_TYPE }))
    const events = changing(() => ({ headers: { "content-type": "text/event-stream" } }))
    assert.instanceOf(await failure(stream(json)), Tampered)
    assert.instanceOf(await failure(complete(events)), Tampered)
    // Parameters and case mean nothing (RFC 9110 §8.3.1).
    const spelt = (type: string) => changing(() => ({ headers: { "content-type": type } }))
    assert.strictEqual(
      (await complete(spelt("Application/vnd.SEALGATE.sealed+json ; charset=utf-8"))).receipt.form,
      "complete",
    )
    assert.strictEqual(await stream(spelt("text/event-stream;charset=utf-8")), HELLO.prompt)
  })
})

describe("a complete answer", () => {
  const tampered = async () => {
    const error = await failure(connect().complete(HELLO))
    assert.instanceOf(error, Tampered)
  }
  const flipped = (frame: string, at: number) => {
    const bytes = fromB64u(frame)
    const index = (at + bytes.length) % bytes.length
    bytes[index] = (bytes[index] ?? 0) ^ 1
    return b64u(bytes)
  }

  it.each<readonly [string, (frames: ReadonlyArray<string>) => unknown]>([
    ["only the answer", ([answer]) => [answer]],
    ["only the end", ([, end]) => [end]],
    ["its frames swapped", ([answer, end]) => [end, answer]],
    ["its answer twice", ([answer, end]) => [answer, answer, end]],
    ["its end twice", ([answer, end]) => [answer, end, end]],
    ["an altered answer", ([answer = "", end]) => [flipped(answer, 0), end]],
    ["an altered tag", ([answer = "", end]) => [flipped(answer, -1), end]],
    ["an altered end", ([answer, end = ""]) => [answer, flipped(end, 100)]],
    ["a cut answer", ([answer = "", end]) => [answer.slice(0, -4), end]],
    ["an empty frame", ([answer]) => [answer, ""]],
    ["a frame that is no base64url", ([answer, end]) => [`${answer}=`, end]],
  ])("with %s is refused", async (_, frames) => {
    proxy.hooks = { frames }
    await tampered()
  })

  it("that belongs to another request is refused", async () => {
    let first: ReadonlyArray<string> | undefined
    proxy.hooks = { frames: (frames) => (first ??= frames), responseNonce: Buffer.alloc(32, 5) }
    const client = connect()
    await client.complete(HELLO)
    assert.instanceOf(await failure(client.complete(HELLO)), Tampered)
  })

  it("of another form is refused", async () => {
    proxy.hooks = { form: "stream" }
    await tampered()
  })

  it("with an incomplete status is refused", async () => {
    for (const status of ["failed", "aborted"] as const) {
      proxy.script = { status }
      await tampered()
    }
  })

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

  it("without usage has none in its receipt", async () => {
    proxy.script = { usage: null }
    assert.isNull((await connect().complete(HELLO)).receipt.usage)
  })
})

const stranger = identityFrom(Buffer.alloc(32, 2))

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

  it.each<readonly [string, Claims]>([
    ["iss", { iss: stranger.kid }],
    ["session_id", { session_id: b64u(Buffer.alloc(16)) }],
    ["jti", { jti: "018f3b1e-7c1a-7d2b-8a3c-000000000000" }],
    ["request_hash", { request_hash: b64u(Buffer.alloc(32)) }],
    ["request_hash's length", { request_hash: b64u(Buffer.alloc(31)) }],
    ["form", { form: "problem" }],
    ["form's kind", { form: "whole" }],
    ["status", { status: "failed" }],
    ["count", { count: 7 }],
    ["root", { root: b64u(Buffer.alloc(32)) }],
    ["request_commitment", { request_commitment: b64u(Buffer.alloc(32)) }],
    ["response_commitment", { response_commitment: b64u(Buffer.alloc(32)) }],
    ["usage", { usage: { total_tokens: 4 } }],
    ["usage's kind", { usage: 3 }],
    ["absent usage", { usage: null }],
    ["finish_reasons", { finish_reasons: ["length"] }],
    ["prompt_persisted", { prompt_persisted: true }],
    ["missing prompt_persisted", { prompt_persisted: undefined }],
    ["missing software", { software: undefined }],
    ["iat", { iat: -1 }],
    ["model", { model: 5 }],
    ["received_at, before its session began", { received_at: NOW / 1000 - 1 }],
    ["received_at, after the end", { received_at: NOW / 1000 + 1 }],
    ["completed_at, before it began", { completed_at: NOW / 1000 - 1 }],
    ["completed_at, after the receipt", { completed_at: NOW / 1000 + 1 }],
  ])("with a wrong %s is refused", async (_, change) => {
    proxy.hooks = { receiptClaims: (claims) => ({ ...claims, ...change }) }
    assert.instanceOf(await failure(request()), Tampered)
  })

  it("signed by a stranger is refused", async () => {
    const claims = (receipt: string) => JSON.parse(fromB64u(receipt.split(".")[1] ?? "").toString()) as Claims
    proxy.hooks = {
      receipt: (receipt) => statement(stranger, "receipt", { ...claims(receipt), iss: stranger.kid }).statement,
    }
    assert.instanceOf(await failure(request()), PinMismatch)
    const header = { alg: "Ed25519", typ: "sealgate-receipt+jwt", kid: proxy.identity.kid }
    proxy.hooks = { receipt: (receipt) => jws(stranger.seed, header, claims(receipt)).statement }
    assert.instanceOf(await failure(request()), Tampered)
  })

  it("signed by another pinned identity is refused", async () => {
    const client = connect({ pins: [proxy.identity.kid, stranger.kid] })
    const own = proxy.identity
    proxy.identity = stranger
    await client.complete(HELLO)
    proxy.identity = own
    pass(300_000)
    const claims = (receipt: string) => JSON.parse(fromB64u(receipt.split(".")[1] ?? "").toString()) as Claims
    proxy.hooks = {
      receipt: (receipt) => statement(stranger, "receipt", { ...claims(receipt), iss: stranger.kid }).statement,
    }
    assert.instanceOf(await failure(client.complete(HELLO)), Tampered)
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

  it.each<readonly [string, (record: Claims) => unknown]>([
    ["no receipt", (record) => ({ ...record, receipt: undefined })],
    ["no status", (record) => ({ ...record, status: undefined })],
    ["a status that does not exist", (record) => ({ ...record, status: "fine" })],
    ["other usage than signed", (record) => ({ ...record, usage: null })],
    ["other finish reasons than signed", (record) => ({ ...record, finish_reasons: [] })],
    ["a list in place of an object", () => []],
  ])("does not make up for an end record with %s", async (_, record) => {
    proxy.hooks = { record }
    assert.instanceOf(await failure(request()), Tampered)
  })
})
