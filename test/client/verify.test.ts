import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import {
  KeyMissing,
  NoPins,
  PinMismatch,
  proveExchange,
  type RecordedStream,
  type RevealedExchange,
  Tampered,
  verifyProof,
  verifyReceipt,
} from "../../src/client/index.ts"
import { exchangeNamed, published, unhex } from "../support/protocol/published.ts"
import { b64u, type Claims, identityFrom, statement } from "../support/protocol/reference.ts"

const identity = identityFrom(Buffer.from(published.identity.seed, "hex"))
const stranger = identityFrom(Buffer.alloc(32, 1))
const trust = { pins: [identity.kid], keys: { keys: [identity.jwk] } }

const { request, response } = exchangeNamed("stream")
const receipt = response.receipt ?? ""
const proof = response.proof ?? ""
const recorded: RecordedStream = {
  response_nonce: b64u(unhex(response.response_nonce)),
  frames: response.frames.map(({ ciphertext }) => b64u(unhex(ciphertext))),
}
const revealed: RevealedExchange = {
  receipt,
  commit_key: b64u(unhex(response.commit_key)),
  request: request.payload,
  responses: response.frames.slice(0, -1).map(({ payload }) => payload),
}

const outcome = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error)

describe("a receipt, later", () => {
  it("is verified by its pin alone, wherever the key comes from", async () => {
    const { kid, provider } = { kid: identity.kid, provider: "provider2" }
    assert.deepInclude(await verifyReceipt(receipt, trust), { iss: kid, provider })
    assert.deepInclude(
      await verifyReceipt(receipt, { ...trust, keys: { keys: [stranger.jwk, { ...identity.jwk, kid: "other" }] } }),
      { iss: kid },
    )
  })

  it("is worth nothing without its key, its pin, or any pin", async () => {
    assert.instanceOf(await outcome(verifyReceipt(receipt, { ...trust, pins: [stranger.kid] })), PinMismatch)
    assert.instanceOf(await outcome(verifyReceipt(receipt, { ...trust, pins: [] })), NoPins)
    assert.instanceOf(await outcome(verifyReceipt(receipt, { ...trust, keys: undefined })), Tampered)
  })

  it("of a pinned identity whose key is not there says what is missing, and does not blame the pin", async () => {
    const keys = { keys: [stranger.jwk] }
    for (const verify of [
      () => verifyReceipt(receipt, { ...trust, keys }),
      () => verifyProof(proof, { ...trust, keys }),
      () => proveExchange(revealed, { ...trust, keys }),
    ]) {
      const error = await outcome(verify())
      if (!(error instanceof KeyMissing)) return assert.fail(String(error))
      assert.strictEqual(error.code, "key-missing")
      assert.strictEqual(error.kid, identity.kid)
      assert.include(error.message, "`keys`")
    }
    return undefined
  })

  it("of an identity that is not pinned names the pins, whether their keys are there or not", async () => {
    const pins = [stranger.kid, "A".repeat(43)]
    for (const keys of [[], [stranger.jwk], [identity.jwk]]) {
      const error = await outcome(verifyReceipt(receipt, { pins, keys: { keys } }))
      if (!(error instanceof PinMismatch)) return assert.fail(String(error))
      assert.deepStrictEqual(error.pins, pins)
      assert.include(error.message, pins.join(", "))
    }
    return undefined
  })

  it("is not a proof, nor a session", async () => {
    assert.instanceOf(await outcome(verifyReceipt(proof, trust)), Tampered)
    assert.instanceOf(await outcome(verifyReceipt(published.session.attestation, trust)), Tampered)
    assert.instanceOf(await outcome(verifyProof(receipt, trust)), Tampered)
  })

  it.each(Object.keys(response.receipt_claims ?? {}))("must have the claim %s", async (claim) => {
    const claims = Object.fromEntries(Object.entries(response.receipt_claims ?? {}).filter(([name]) => name !== claim))
    const signed = statement(identity, "receipt", claim === "iss" ? { ...claims, iss: undefined } : claims).statement
    assert.instanceOf(await outcome(verifyReceipt(signed, trust)), Tampered)
  })
})

describe("a proof, later", () => {
  it("is verified with and without a recording", async () => {
    assert.deepInclude(await verifyProof(proof, trust), { count: response.frames.length, status: "complete" })
    assert.deepInclude(await verifyProof(proof, trust, recorded), { status: "complete" })
  })

  it("covers exactly the frames of the recording", async () => {
    const { frames } = recorded
    const [first = "", second = "", ...rest] = frames
    const others: ReadonlyArray<RecordedStream> = [
      { ...recorded, frames: frames.slice(1) },
      { ...recorded, frames: frames.slice(0, -1) },
      { ...recorded, frames: [] },
      { ...recorded, frames: [second, first, ...rest] },
      { ...recorded, frames: [first, ...frames] },
      { ...recorded, frames: [...frames, first] },
      { ...recorded, frames: [first, first, ...rest] },
      { ...recorded, response_nonce: b64u(Buffer.alloc(32)) },
      { ...recorded, response_nonce: "" },
      { ...recorded, frames: [`${first}=`, second, ...rest] },
    ]
    for (const other of others) assert.instanceOf(await outcome(verifyProof(proof, trust, other)), Tampered)
  })

  it("does not cover a recording with any bit changed", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(recorded.frames.length - 1), fc.nat(), async (index, bit) => {
        const frames = recorded.frames.map((frame, i) => {
          if (i !== index) return frame
          const bytes = Buffer.from(frame, "base64url")
          const at = bit % (bytes.length * 8)
          bytes[at >> 3] = (bytes[at >> 3] ?? 0) ^ (1 << (at & 7))
          return b64u(bytes)
        })
        assert.instanceOf(await outcome(verifyProof(proof, trust, { ...recorded, frames })), Tampered)
      }),
      { numRuns: 50 },
    )
  })

  it.each<readonly [string, Claims]>([
    ["another root", { root: b64u(Buffer.alloc(32)) }],
    ["another count", { count: 3 }],
    ["another request", { request_hash: b64u(Buffer.alloc(32)) }],
    ["a short hash", { request_hash: "AAAA" }],
    ["no status", { status: undefined }],
  ])("with %s does not cover it", async (_, change) => {
    const signed = statement(identity, "proof", { ...response.proof_claims, ...change }).statement
    assert.instanceOf(await outcome(verifyProof(signed, trust, recorded)), Tampered)
  })
})

describe("an exchange, revealed", () => {
  it("is proven", async () => {
    const proven = await proveExchange(revealed, trust)
    assert.deepInclude(proven.receipt, { iss: identity.kid, form: "stream" })
    assert.strictEqual(proven.responses.length, revealed.responses.length)
  })

  it.each<readonly [string, Partial<RevealedExchange>]>([
    ["another request", { request: revealed.request.replace("Lisbon", "Madrid") }],
    ["white space in the request", { request: `${revealed.request} ` }],
    ["no answer", { responses: [] }],
    ["a part of the answer", { responses: revealed.responses.slice(0, -1) }],
    ["more than the answer", { responses: [...revealed.responses, "{}"] }],
    ["another answer", { responses: revealed.responses.map((text) => text.replace("Lisbon", "Madrid")) }],
    ["another order", { responses: revealed.responses.toReversed() }],
    [
      "its parts cut elsewhere",
      {
        responses: revealed.responses.map((text, i) =>
          i === 0 ? text.slice(0, -1) : i === 1 ? `${(revealed.responses[0] ?? "").slice(-1)}${text}` : text,
        ),
      },
    ],
    ["another key", { commit_key: b64u(Buffer.alloc(32)) }],
    ["a longer key", { commit_key: b64u(Buffer.concat([unhex(response.commit_key), Buffer.alloc(1)])) }],
    ["no key", { commit_key: "" }],
    ["another exchange's receipt", { receipt: exchangeNamed("complete").response.receipt ?? "" }],
    ["a proof for a receipt", { receipt: proof }],
  ])("is not proven with %s", async (_, change) => {
    assert.instanceOf(await outcome(proveExchange({ ...revealed, ...change }, trust)), Tampered)
  })

  it("is not proven by another identity's receipt", async () => {
    const forged = statement(stranger, "receipt", { ...response.receipt_claims, iss: stranger.kid }).statement
    assert.instanceOf(await outcome(proveExchange({ ...revealed, receipt: forged }, trust)), PinMismatch)
  })
})
