import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { type Bytes } from "../../../src/domain/bytes/bytes.ts"
import { lend } from "../../../src/domain/bytes/releaseBytes.ts"
import { type Suite, SUITES, X25519 } from "../../../src/domain/protocol/suites.ts"
import type { ApiRequest } from "../../../src/domain/upstream/upstream.ts"
import { Attestation } from "../../../src/services/sealing/Attestation.ts"
import { KeyVault } from "../../../src/services/sealing/KeyVault.ts"
import { plainStorage } from "../../../src/services/sealing/PlainStorage.ts"
import { SealedCompletions } from "../../../src/services/sealing/SealedCompletions.ts"
import { type Envelope, RequestOpener } from "../../../src/services/sealing/RequestOpener.ts"
import { Sessions } from "../../../src/services/sealing/Sessions.ts"
import { Upstream } from "../../../src/services/upstream/Upstream.ts"
import { isPacedExchange, published, sessionOf, unhex } from "../../support/protocol/published.ts"
import { layerPublishedUpstream } from "../../support/protocol/PublishedUpstream.ts"
import * as reference from "../../support/protocol/reference.ts"
import {
  beginSession,
  collect,
  fixedRandom,
  layerFixedKey,
  layerSealing,
  MAX_REQUEST_BYTES,
  sealPayload,
} from "../../support/protocol/Sealing.ts"

const { identity } = published

const suiteNamed = (name: string): Suite => SUITES.find((suite) => suite.name === name) ?? X25519

describe("the published vectors, replayed by the server", () => {
  // Tests of the shutdown cover aborted answers.
  const replayed = published.exchanges.filter(({ name }) => name !== "aborted")

  it.effect.each(replayed)("$name: the offer, every frame, the receipt and the proof", (exchange) => {
    const { received_at_ms, request, response } = exchange
    const session = sessionOf(exchange)
    const suite = suiteNamed(session.name)
    const asked: Array<ApiRequest> = []
    const replay = Effect.gen(function* () {
      const attestation = yield* Attestation
      assert.deepStrictEqual<object>(attestation.jwk, identity.jwk)
      assert.strictEqual(attestation.kid, identity.kid)

      const sessions = yield* Sessions
      const initHash = reference.initHash(session.request_body)
      assert.strictEqual(yield* sessions.begin({ suite, initHash }), session.attestation)

      yield* TestClock.setTime(received_at_ms)
      const completions = yield* SealedCompletions
      const answer = yield* completions.handle(request.body)
      const collecting = yield* Effect.forkScoped(collect(answer), { startImmediately: true })
      for (let tick = 0; tick < (isPacedExchange(exchange) ? 8 : 0); tick++) yield* TestClock.adjust(50)
      const collected = yield* Fiber.join(collecting)
      assert.strictEqual(collected.form, exchange.form)
      assert.deepStrictEqual(collected.responseNonce, unhex(response.response_nonce))
      assert.deepStrictEqual(
        collected.frames.map(reference.hex),
        response.frames.map(({ ciphertext }) => ciphertext),
      )
      assert.strictEqual(collected.proof, response.proof)
      assert.strictEqual(asked.length, exchange.name === "unreadable" ? 0 : 1)
    }).pipe(
      Effect.scoped,
      Effect.provide(
        layerSealing({
          seed: unhex(identity.seed),
          vault: layerFixedKey(suite, unhex(session.private_key)),
          random: fixedRandom(unhex(session.session_id), unhex(response.response_nonce)),
          sessions: { maxRequestBytes: Number(session.claims["max_request_bytes"]) },
        }).pipe(Layer.provide(layerPublishedUpstream(exchange, asked))),
      ),
    )
    // Before the services are built: the timer that prunes sessions would otherwise run since 1970.
    return Effect.andThen(TestClock.setTime(session.begun_at_ms), replay)
  })
})

const layer = layerSealing({ sessions: { maxRequests: 3, ttl: Duration.minutes(5) } }).pipe(
  Layer.provide(Upstream.layerEcho),
)

const PAYLOAD = reference.text("{}")

/** Begins a session and seals `{}` to it. */
const begin = Effect.fnUntraced(function* (change?: (block: Buffer) => Buffer) {
  const offer = yield* beginSession()
  const request = yield* Effect.promise(() => sealPayload(offer, PAYLOAD, change))
  return { offer, request }
})

const open = (envelope: Envelope) =>
  Effect.flatMap(RequestOpener, (opener) => Effect.scoped(Effect.as(opener.open(envelope), "opened")))

const refusal = (envelope: Envelope) =>
  open(envelope).pipe(
    Effect.flip,
    Effect.map(({ _tag }) => _tag),
  )

describe("open", () => {
  it.effect("checks the size before anything else", () =>
    Effect.gen(function* () {
      const ciphertext = reference.b64u(Buffer.alloc(MAX_REQUEST_BYTES + 1))
      const enc = reference.b64u(Buffer.alloc(32))
      const error = yield* Effect.flip(open({ session_id: "nobody", enc, ciphertext }))
      assert.deepInclude(error, { _tag: "CiphertextTooLarge", maxBytes: MAX_REQUEST_BYTES })
      const largest = reference.b64u(Buffer.alloc(MAX_REQUEST_BYTES))
      assert.strictEqual(yield* refusal({ session_id: "nobody", enc, ciphertext: largest }), "SessionGone")
    }).pipe(Effect.provide(layer)),
  )

  it.effect("reports a gone session if it ends while its request is being opened", () => {
    let beforeAgreement = () => {}
    const vault = Layer.sync(KeyVault, () => {
      const storage = plainStorage()
      return KeyVault.of({
        ...storage,
        x25519: (secret, peer) => {
          beforeAgreement()
          return storage.x25519(secret, peer)
        },
      })
    })
    return Effect.gen(function* () {
      const { request } = yield* begin()
      const sessions = yield* Sessions
      // One session is all there may be: the next evicts it.
      beforeAgreement = () => void Effect.runSync(sessions.begin({ suite: X25519, initHash: "hash" }))
      assert.strictEqual(yield* refusal(request.envelope), "SessionGone")
    }).pipe(Effect.provide(layerSealing({ vault, sessions: { maxLive: 1 } }).pipe(Layer.provide(Upstream.layerEcho))))
  })

  it.effect("overwrites a large plaintext before its memory is released", () =>
    Effect.gen(function* () {
      const { offer } = yield* begin()
      const large = Buffer.alloc(50_000, " ")
      const open = (yield* RequestOpener).open
      const payloadOf = Effect.fnUntraced(function* (look: (payload: Bytes) => void) {
        const { envelope } = yield* Effect.promise(() => sealPayload(offer, large))
        const { payload } = (yield* Effect.scoped(
          Effect.tap(open(envelope), ({ request }) => Effect.sync(() => look(request.payload))),
        )).request
        return payload
      })
      assert.lengthOf(yield* payloadOf(() => {}), 0)
      const lent = yield* payloadOf((payload) => void lend(payload))
      assert.deepStrictEqual(lent, new Uint8Array(large.length))
    }).pipe(Effect.provide(layer)),
  )
})
