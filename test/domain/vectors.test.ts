import { assert, describe, it } from "@effect/vitest"
import { decodeBase64Url, encodeBase64Url, label, utf8 } from "../../src/domain/bytes/bytes.ts"
import { floorOf, paceOf } from "../../src/domain/protocol/pace.ts"
import { FLOOR, pad, padme, unpad } from "../../src/domain/protocol/padding.ts"
import { joinContent, splitContent } from "../../src/domain/protocol/sealedContent.ts"
import { SOFTWARE } from "../../src/domain/operations/software.ts"
import { assembleStatement, parseStatement, thumbprintInput } from "../../src/domain/protocol/statement.ts"
import {
  chainLink,
  chainSeed,
  frameAad,
  frameNonce,
  requestAad,
  requestInfo,
  requestTranscript,
  responseSalt,
} from "../../src/domain/protocol/transcript.ts"
import { hex, hkdfExtract, sha256 } from "../support/protocol/reference.ts"
import { negatives, published, sessionOf, unhex } from "../support/protocol/published.ts"
import { makeNegatives } from "../support/protocol/negatives.ts"
import { makeVectors } from "../support/protocol/vectors.ts"

const { identity, sessions } = published

describe("the published vectors", () => {
  it("are what the reference implementation computes", async () => {
    const vectors = await makeVectors(SOFTWARE)
    assert.deepStrictEqual(published, vectors)
    // Members without a value do not reach the file.
    assert.deepStrictEqual<unknown>(negatives, JSON.parse(JSON.stringify(await makeNegatives(vectors))))
  })

  it("hold for base64url", () => {
    for (const { bytes, text } of published.base64url.accepted) {
      assert.strictEqual(encodeBase64Url(unhex(bytes)), text)
      assert.deepStrictEqual(decodeBase64Url(text), unhex(bytes))
    }
    for (const { text, why } of published.base64url.refused) assert.isUndefined(decodeBase64Url(text), why)
  })

  it.each(published.labels)("hold for the label $name", ({ bytes, name }) => {
    assert.deepStrictEqual(label(name), unhex(bytes))
  })

  it("hold for padding", () => {
    for (const { length, size } of published.padme) assert.strictEqual(padme(length), size, `padme(${length})`)
    for (const { block, floor, payload } of published.blocks) {
      assert.deepStrictEqual(pad(unhex(payload), floor), unhex(block))
      assert.deepStrictEqual(unpad(unhex(block), floor), unhex(payload))
    }
  })

  it("hold for frame nonces", () => {
    for (const { base_nonce, index, nonce } of published.frame_nonces) {
      assert.deepStrictEqual(frameNonce(unhex(base_nonce), index), unhex(nonce))
    }
  })

  it.each(Object.values(sessions))("hold for the statement of the session with $name", (session) => {
    assert.strictEqual(
      new TextDecoder().decode(thumbprintInput(encodeBase64Url(unhex(identity.public_key)))),
      identity.thumbprint_input,
    )
    const parsed = parseStatement(session.attestation)
    assert.strictEqual(parsed?.kid, identity.kid)
    assert.deepStrictEqual(parsed?.claims, session.claims)
    assert.deepStrictEqual(parsed?.signed, utf8(session.signing_input))
    assert.strictEqual(assembleStatement(session.signing_input, parsed?.signature ?? unhex("")), session.attestation)
  })

  describe.each(published.exchanges)("of the exchange $name", (exchange) => {
    const { form, request, response } = exchange
    const session = sessionOf(exchange)
    const attestationHash = unhex(session.attestation_hash)
    const enc = unhex(request.enc)
    const requestHash = unhex(request.request_hash)

    it("hold for what binds the request", () => {
      assert.deepStrictEqual(requestInfo(attestationHash), unhex(request.info))
      assert.deepStrictEqual(requestAad(unhex(session.session_id)), unhex(request.aad))
      assert.deepStrictEqual(pad(joinContent(request.credential, utf8(request.payload)), FLOOR), unhex(request.block))
      assert.deepStrictEqual(splitContent(unpad(unhex(request.block), FLOOR) ?? unhex("")), {
        credential: utf8(request.credential),
        payload: utf8(request.payload),
      })
      const transcript = requestTranscript(attestationHash, enc, sha256(unhex(request.ciphertext)))
      assert.strictEqual(hex(sha256(transcript)), request.request_hash)
    })

    it("hold for every frame and link of the chain", () => {
      const nonce = unhex(response.response_nonce)
      assert.strictEqual(hex(hkdfExtract(responseSalt(enc, nonce), unhex(request.exported_secret))), response.prk)
      const { pace } = JSON.parse(request.payload) as { readonly pace?: unknown }
      let chain = sha256(chainSeed(requestHash, nonce))
      assert.strictEqual(hex(chain), response.chain_seed)
      for (const frame of response.frames) {
        const floor = form === "stream" ? floorOf(paceOf(pace)) : FLOOR
        assert.deepStrictEqual(pad(utf8(frame.payload), floor), unhex(frame.block))
        assert.deepStrictEqual(frameNonce(unhex(response.base_nonce), frame.index), unhex(frame.nonce))
        assert.deepStrictEqual(frameAad(form, frame.index, frame.final, requestHash), unhex(frame.aad))
        chain = sha256(chainLink(chain, frame.index, frame.final, sha256(unhex(frame.ciphertext))))
        assert.strictEqual(hex(chain), frame.chain)
      }
    })
  })
})
