/** Nothing is sealed for, or sent to, a proxy that has not proven to be the pinned one. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { KeyMissing, NoPins, PinMismatch, SealedProblem, Tampered } from "../../src/client/errors.ts"
import type { Fetch } from "../../src/client/sealed/SealedClient.ts"
import { startProxy } from "../support/proxy.ts"
import type { JsonObject } from "../../src/domain/json/json.ts"
import { INIT, jsonOf, post } from "../support/sealing.ts"
import { changing, failureOf, recording } from "../support/tamper.ts"

const OTHER_PIN = "A".repeat(43)

it.effect("another identity than the pinned one is refused before anything is sealed or sent", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    yield* Effect.promise(async () => {
      const { record, requests } = recording()
      const client = proxy.client({ pins: [OTHER_PIN], fetch: record })
      for (const asking of [client.complete({ prompt: "secret" }), client.stream({ prompt: "secret" })]) {
        const error = await failureOf(asking)
        assert.instanceOf(error, PinMismatch)
        assert.strictEqual(error.kid, proxy.kid)
        assert.deepStrictEqual(error.pins, [OTHER_PIN])
      }
      assert.deepStrictEqual(new Set(requests.map(({ path }) => path)), new Set(["/v1/init"]))
      assert.notInclude(JSON.stringify(requests), "secret")
    })
  }),
)

it.effect("one of several pins is enough, so a key can be rotated", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    const client = proxy.client({ pins: [OTHER_PIN, proxy.kid] })
    const { receipt } = yield* Effect.promise(() => client.complete({ prompt: "hello" }))
    assert.strictEqual(receipt.iss, proxy.kid)
  }),
)

it.effect("without pins nothing is even asked for, except on first use when told so", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    yield* Effect.promise(async () => {
      const { record, requests } = recording()
      const client = proxy.client({ pins: [], fetch: record })
      assert.instanceOf(await failureOf(client.complete({ prompt: "secret" })), NoPins)
      assert.instanceOf(await failureOf(client.stream({ prompt: "secret" })), NoPins)
      assert.deepStrictEqual(requests, [])

      const trusting = proxy.client({ pins: [], trustOnFirstUse: true })
      await trusting.complete({ prompt: "hello" })
      assert.deepStrictEqual(trusting.pins, [proxy.kid])
    })
  }),
)

it.effect("an identity trusted on first use is the only one from then on", () =>
  Effect.gen(function* () {
    const first = yield* startProxy({ settings: { sessionMaxRequests: 1 } })
    const second = yield* startProxy()
    let target = first.url
    const client = first.client({
      pins: [],
      trustOnFirstUse: true,
      fetch: (url, init) => fetch(url.replace(first.url, target), init),
    })
    yield* Effect.promise(async () => {
      await client.complete({ prompt: "hello" })
      target = second.url
      assert.instanceOf(await failureOf(client.complete({ prompt: "hello" })), PinMismatch)
    })
  }),
)

/** An offer changed by somebody on the path, and offers that belong elsewhere. */
const offers = (earlier: object): ReadonlyArray<readonly [name: string, change: (offer: JsonObject) => object]> => [
  ["no attestation", () => ({})],
  ["unsigned", () => ({ attestation: "e30.e30." })],
  ["another session's attestation", () => earlier],
  ...CLAIMS.map(
    ([claim, value]) =>
      [
        claim,
        ({ attestation }: JsonObject) => ({ attestation: withClaim(String(attestation), claim, value) }),
      ] as const,
  ),
]

/** Every single claim, with another value than was signed. */
const CLAIMS = [
  ["version", 3],
  ["session_id", "AAAAAAAAAAAAAAAAAAAAAA"],
  ["public_key", "CQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"],
  ["suite", { kem: 32, kdf: 1, aead: 2 }],
  ["expires_at", 9_999_999_999],
  ["max_requests", 1_000_000],
  ["max_request_bytes", 1],
  ["init_hash", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"],
] as const

const withClaim = (statement: string, claim: string, value: unknown): string => {
  const [header, claims = "", signature] = statement.split(".")
  const changed = { ...(JSON.parse(Buffer.from(claims, "base64url").toString()) as object), [claim]: value }
  return [header, Buffer.from(JSON.stringify(changed)).toString("base64url"), signature].join(".")
}

it.effect("an offer that was changed or made for somebody else is refused before anything is sealed", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    yield* Effect.promise(async () => {
      const earlier = await jsonOf(await post(proxy, "/v1/init", INIT))
      for (const [name, change] of offers(earlier)) {
        const { record, requests } = recording()
        const meddling: Fetch = async (url, init) => {
          const response = await record(url, init)
          return url.endsWith("/v1/init") ? Response.json(change(await jsonOf(response))) : response
        }
        const error = await failureOf(proxy.client({ fetch: meddling }).complete({ prompt: "secret" }))
        assert.instanceOf(error, Tampered, name)
        assert.isFalse(
          requests.some(({ path }) => path === "/v1/completions"),
          name,
        )
      }
    })
  }),
)

it.effect("a key shown under the pinned key id that does not have it is refused", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    const other = yield* startProxy()
    yield* Effect.promise(async () => {
      const meddling: Fetch = async (url, init) => {
        if (!url.endsWith("/v1/init")) return fetch(url, init)
        const { keys } = await jsonOf(await fetch(`${other.url}/v1/keys`))
        if (!Array.isArray(keys)) throw new Error("no keys")
        const offer = await jsonOf(await fetch(url, init))
        return Response.json({ ...offer, keys: keys.map((key: object) => ({ ...key, kid: proxy.kid })) })
      }
      assert.instanceOf(await failureOf(proxy.client({ fetch: meddling }).complete({ prompt: "secret" })), KeyMissing)
    })
  }),
)

const UNSEALED = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "believe me" }, finish_reason: "stop" }],
}
const UNSEALED_CHUNK = {
  ...UNSEALED,
  object: "chat.completion.chunk",
  choices: [{ index: 0, delta: { content: "believe me" }, finish_reason: "stop" }],
}
const eventStream = (text: string) => new Response(text, { headers: { "content-type": "text/event-stream" } })

it.effect("an unsealed answer with status 200 is tampering, whatever its form", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    const forged: ReadonlyArray<() => Response> = [
      () => Response.json(UNSEALED),
      () => Response.json({}),
      () => Response.json([]),
      () => Response.json({ response_nonce: "A".repeat(43), frames: [] }),
      () => Response.json({ response_nonce: "A".repeat(43), frames: [JSON.stringify(UNSEALED)] }),
      () => new Response("believe me"),
      () => eventStream(`data: ${JSON.stringify(UNSEALED_CHUNK)}\n\ndata: [DONE]\n\n`),
      () => eventStream(`event: open\ndata: {"response_nonce":"x"}\n\n`),
      () => eventStream(`event: frame\ndata: ${JSON.stringify({ delta: UNSEALED_CHUNK })}\n\n`),
      () => eventStream(""),
    ]
    yield* Effect.promise(async () => {
      for (const [index, make] of forged.entries()) {
        const client = proxy.client({ fetch: changing(make) })
        assert.instanceOf(await failureOf(client.complete({ prompt: "hello" })), Tampered, `complete ${index}`)
        const streamed = client.stream({ prompt: "hello" }).then((stream) => stream.text())
        assert.instanceOf(await failureOf(streamed), Tampered, `stream ${index}`)
      }
    })
  }),
)

it.effect("an unsealed problem says that it was not sealed, and never counts as an answer", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    yield* Effect.promise(async () => {
      const forged = changing(() => Response.json({ title: "Upgrade at evil.example" }, { status: 402 }))
      const error = await failureOf(proxy.client({ fetch: forged }).complete({ prompt: "hello" }))
      assert.instanceOf(error, SealedProblem)
      assert.isFalse(error.sealed)
    })
  }),
)
