import { assert, describe, it } from "@effect/vitest"
import { utf8 } from "../../src/domain/bytes/bytes.ts"
import { floorOf, paceOf } from "../../src/domain/protocol/pace.ts"
import { FLOOR } from "../../src/domain/protocol/padding.ts"
import { SUITES, X25519 } from "../../src/domain/protocol/suites.ts"
import { proveExchange, verifyProof, verifyReceipt } from "../../src/client/index.ts"
import { joinChat } from "../../src/client/sealed/joins.ts"
import { SealedStream } from "../../src/client/sealed/SealedStream.ts"
import { ResponseOpener } from "../../src/client/sealed/ResponseOpener.ts"
import { readClocks } from "../../src/client/sealed/clocks.ts"
import { sealRequest, type SentRequest } from "../../src/client/sealed/sealRequest.ts"
import type { ServerSentEvent } from "../../src/client/sealed/serverSentEvents.ts"
import { verifySession } from "../../src/client/sealed/session.ts"
import { thumbprint, trustKeys } from "../../src/client/verification/trust.ts"
import { exchangeNamed, type PublishedExchange, published, sessionOf, unhex } from "../support/protocol/published.ts"
import { b64u, hex } from "../support/protocol/reference.ts"

const { identity } = published
const trust = { pins: [identity.kid], keys: { keys: [identity.jwk] } }
const trusted = await trustKeys(trust)

const begin = (exchange: PublishedExchange) => {
  const { attestation, begun_at_ms, request_body } = sessionOf(exchange)
  return verifySession(attestation, trusted, { body: request_body, suites: SUITES }, begun_at_ms)
}

const payloadOf = ({ request }: PublishedExchange) =>
  JSON.parse(request.payload) as { readonly request_id: string; readonly pace?: number }

const requestIdOf = (exchange: PublishedExchange): string => payloadOf(exchange).request_id

const layoutOf = (exchange: PublishedExchange) => ({
  form: exchange.form,
  floor: exchange.form === "stream" ? floorOf(paceOf(payloadOf(exchange).pace)) : FLOOR,
})

/** Seals the payload again. With X-Wing, whose encapsulation cannot be fixed here, returns the published ciphertext. */
const seal = async (exchange: PublishedExchange): Promise<SentRequest> => {
  const { request } = exchange
  const session = await begin(exchange)
  const { credential, payload } = request
  if (session.suite === X25519) {
    const seed = unhex("ephemeral_ikm" in request ? request.ephemeral_ikm : "")
    return sealRequest(session, { requestId: requestIdOf(exchange), payload, credential }, seed)
  }
  return {
    session,
    requestId: requestIdOf(exchange),
    body: request.body,
    payload: utf8(payload),
    credential,
    enc: unhex(request.enc),
    secret: unhex(request.exported_secret),
    requestHash: unhex(request.request_hash),
    sealedAt: readClocks(),
  }
}

describe("the published vectors, replayed by the client", () => {
  it.each(published.exchanges)("the session offer of $name", async (exchange) => {
    const session = sessionOf(exchange)
    assert.strictEqual(await thumbprint(unhex(identity.public_key)), identity.kid)
    const verified = await begin(exchange)
    assert.strictEqual<string>(verified.suite.name, session.name)
    assert.deepStrictEqual(verified.idBytes, unhex(session.session_id))
    assert.deepStrictEqual(verified.publicKey, unhex(session.public_key))
    assert.deepStrictEqual(verified.attestationHash, unhex(session.attestation_hash))
    assert.strictEqual(verified.kid, identity.kid)
    assert.strictEqual(verified.maxRequestBytes, session.claims["max_request_bytes"])
    assert.strictEqual(verified.requestsLeft, session.claims["max_requests"])
  })

  describe.each(published.exchanges)("$name", (exchange) => {
    const { form, request, response } = exchange

    it("the sealed request", async () => {
      const sent = await seal(exchange)
      assert.deepStrictEqual<object>(sent.body, request.body)
      assert.strictEqual(hex(sent.enc), request.enc)
      assert.strictEqual(hex(sent.secret), request.exported_secret)
      assert.strictEqual(hex(sent.requestHash), request.request_hash)
    })

    it("every frame, the receipt and the proof", async () => {
      const opener = await ResponseOpener.begin(
        await seal(exchange),
        trusted,
        layoutOf(exchange),
        b64u(unhex(response.response_nonce)),
      )
      let last: Awaited<ReturnType<ResponseOpener["openAnswer"]>> = {}
      for (const frame of response.frames) {
        last = await opener.openAnswer(b64u(unhex(frame.ciphertext)), frame.final)
        assert.deepStrictEqual<unknown>(last, JSON.parse(frame.payload))
      }
      const end = await opener.end(last ?? {})
      assert.deepStrictEqual<object>(end.receipt, response.receipt_claims ?? {})
      assert.strictEqual(end.evidence.receipt, response.receipt)
      assert.strictEqual(end.evidence.commit_key, b64u(unhex(response.commit_key)))
      if (form === "stream") {
        assert.deepStrictEqual<object>(await opener.prove(response.proof ?? "", end), response.proof_claims ?? {})
      }
    })
  })

  it("the stream as events", async () => {
    const exchange = exchangeNamed("stream")
    const { response } = exchange
    const [, ...events] = response.event_stream ?? []
    const opener = await ResponseOpener.begin(
      await seal(exchange),
      trusted,
      layoutOf(exchange),
      b64u(unhex(response.response_nonce)),
    )
    const left = (async function* (): AsyncGenerator<ServerSentEvent> {
      yield* events
    })()
    const stream = new SealedStream({ opener, events: left }, joinChat)
    const kinds: Array<string> = []
    for await (const part of stream) kinds.push(part.type)
    assert.deepStrictEqual(kinds, ["delta", "restart", "delta", "delta", "delta", "delta", "delta"])
    const { completion, statements } = await stream.end
    assert.deepStrictEqual(statements, { receipt: response.receipt, proof: response.proof })
    assert.deepStrictEqual(completion.choices[0]?.message.tool_calls, [
      { id: "call_1", type: "function", function: { name: "get_weather", arguments: '{"city":"Lisbon"}' } },
    ])
    assert.strictEqual(completion.choices[0]?.finish_reason, "tool_calls")
  })

  it.each(published.exchanges.filter(({ name }) => name !== "unreadable"))(
    "$name: offline, what can be proven later",
    async ({ request, response }) => {
      const claims = await verifyReceipt(response.receipt ?? "", trust)
      assert.deepStrictEqual<object>(claims, response.receipt_claims ?? {})
      const responses = response.frames.slice(0, -1).map(({ payload }) => payload)
      const proven = await proveExchange(
        {
          receipt: response.receipt ?? "",
          commit_key: b64u(unhex(response.commit_key)),
          credential_commitment: b64u(unhex(response.credential_commitment)),
          request: request.payload,
          responses,
        },
        trust,
      )
      assert.deepStrictEqual<unknown>(proven.request, JSON.parse(request.payload))
      assert.deepStrictEqual<unknown>(
        proven.responses,
        responses.map((payload) => JSON.parse(payload)),
      )
      if (response.proof === undefined) return
      const frames = response.frames.map(({ ciphertext }) => b64u(unhex(ciphertext)))
      const recorded = { response_nonce: b64u(unhex(response.response_nonce)), frames }
      assert.deepStrictEqual<object>(await verifyProof(response.proof, trust, recorded), response.proof_claims ?? {})
    },
  )
})
