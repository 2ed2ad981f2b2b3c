import { assert, describe, it } from "@effect/vitest"
import {
  KeyMissing,
  NoPins,
  PinMismatch,
  proveExchange,
  type RecordedStream,
  type RevealedExchange,
  Tampered,
  verifyEvidence,
  verifyProof,
  verifyReceipt,
} from "../../../src/client/index.ts"
import { provenAnswer } from "../../../src/client/verification/provenAnswer.ts"
import { exchangeNamed, published, unhex } from "../../support/protocol/published.ts"
import {
  b64u,
  chainLink,
  chainSeed,
  type Claims,
  fromB64u,
  identityFrom,
  requestCommitment,
  responseCommitment,
  statement,
  text,
} from "../../support/protocol/reference.ts"

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
  credential_commitment: b64u(unhex(response.credential_commitment)),
  request: request.payload,
  responses: response.frames.slice(0, -1).map(({ payload }) => payload),
}

const outcome = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error)

describe("offline, a receipt", () => {
  it("is verified by its pin, whatever the source of the key", async () => {
    const { kid, provider } = { kid: identity.kid, provider: "provider2" }
    assert.deepInclude(await verifyReceipt(receipt, trust), { iss: kid, provider })
    assert.deepInclude(
      await verifyReceipt(receipt, { ...trust, keys: { keys: [stranger.jwk, { ...identity.jwk, kid: "other" }] } }),
      { iss: kid },
    )
  })

  it("is refused without its key, its pin, or any pin", async () => {
    assert.instanceOf(await outcome(verifyReceipt(receipt, { ...trust, pins: [stranger.kid] })), PinMismatch)
    assert.instanceOf(await outcome(verifyReceipt(receipt, { ...trust, pins: [] })), NoPins)
    assert.instanceOf(await outcome(verifyReceipt(receipt, { ...trust, keys: undefined })), Tampered)
  })

  it("of a pinned identity without its key fails with KeyMissing", async () => {
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

  it("of an unpinned identity fails with PinMismatch, which names the pins", async () => {
    const pins = [stranger.kid, "A".repeat(43)]
    for (const keys of [[], [stranger.jwk], [identity.jwk]]) {
      const error = await outcome(verifyReceipt(receipt, { pins, keys: { keys } }))
      if (!(error instanceof PinMismatch)) return assert.fail(String(error))
      assert.deepStrictEqual(error.pins, pins)
      assert.include(error.message, pins.join(", "))
    }
    return undefined
  })

  it.each(Object.keys(response.receipt_claims ?? {}))("must have the claim %s", async (claim) => {
    const claims = Object.fromEntries(Object.entries(response.receipt_claims ?? {}).filter(([name]) => name !== claim))
    const signed = statement(identity, "receipt", { ...claims, [claim]: undefined }).statement
    assert.instanceOf(await outcome(verifyReceipt(signed, trust)), Tampered)
  })

  it.each<Claims>([{ prompt_persisted: true }, { iat: -1 }, { form: "whole" }])(
    "is refused with %j",
    async (change) => {
      const signed = statement(identity, "receipt", { ...response.receipt_claims, ...change }).statement
      assert.instanceOf(await outcome(verifyReceipt(signed, trust)), Tampered)
    },
  )
})

describe("offline, a proof", () => {
  it("is verified with and without a recording", async () => {
    assert.deepInclude(await verifyProof(proof, trust), { count: response.frames.length })
    assert.deepInclude(await verifyProof(proof, trust, recorded), { count: response.frames.length })
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

  it.each<readonly [string, Claims]>([
    ["another count", { count: 3 }],
    ["a short hash", { request_hash: "AAAA" }],
    ["no count", { count: undefined }],
  ])("does not cover a recording with %s", async (_, change) => {
    const signed = statement(identity, "proof", { ...response.proof_claims, ...change }).statement
    assert.instanceOf(await outcome(verifyProof(signed, trust, recorded)), Tampered)
  })
})

describe("a revealed exchange", () => {
  it("is proven by its receipt", async () => {
    const proven = await proveExchange(revealed, trust)
    assert.deepInclude(proven.receipt, { iss: identity.kid, form: "stream" })
    assert.strictEqual(proven.responses.length, revealed.responses.length)
  })

  it.each<readonly [string, Partial<RevealedExchange>]>([
    ["white space in the request", { request: `${revealed.request} ` }],
    ["more than the answer", { responses: [...revealed.responses, "{}"] }],
    ["another order", { responses: revealed.responses.toReversed() }],
    [
      "its parts cut elsewhere",
      {
        responses: revealed.responses.map((json, i) =>
          i === 0 ? json.slice(0, -1) : i === 1 ? `${(revealed.responses[0] ?? "").slice(-1)}${json}` : json,
        ),
      },
    ],
    ["a longer key", { commit_key: b64u(Buffer.concat([unhex(response.commit_key), Buffer.alloc(1)])) }],
    ["no key", { commit_key: "" }],
  ])("is not proven with %s", async (_, change) => {
    assert.instanceOf(await outcome(proveExchange({ ...revealed, ...change }, trust)), Tampered)
  })
})

describe("evidence of one exchange", () => {
  const receiptClaims = response.receipt_claims ?? {}
  const proofClaims = response.proof_claims ?? {}
  const count = Number(receiptClaims["count"])
  const iat = Number(receiptClaims["iat"])
  const signedReceipt = (change: Claims) => statement(identity, "receipt", { ...receiptClaims, ...change }).statement
  const signedProof = (change: Claims) => statement(identity, "proof", { ...proofClaims, ...change }).statement
  const nothing = b64u(Buffer.alloc(32))

  /** The exchange with parts of its question and answer changed, and a receipt that commits to just that. */
  const committed = (
    change: (payload: Claims) => Claims,
    changeAnswer: (payload: Claims, index: number) => Claims = (payload) => payload,
    claims: Claims = {},
    exchange = revealed,
  ): RevealedExchange => {
    const commitKey = unhex(response.commit_key)
    const question = JSON.stringify(change(JSON.parse(exchange.request)))
    const responses = exchange.responses.map((text, index) => JSON.stringify(changeAnswer(JSON.parse(text), index)))
    const receipt = signedReceipt({
      request_commitment: b64u(
        requestCommitment({ commitKey, credentialKey: unhex(response.credential_key) }, text(""), text(question)),
      ),
      response_commitment: b64u(responseCommitment(commitKey, responses.map(text))),
      ...claims,
    })
    return { ...revealed, receipt, request: question, responses }
  }
  const same = (payload: Claims) => payload

  /** The chain of a recording after its data frames, and after all of its frames. */
  const rootsOf = ({ frames, response_nonce }: RecordedStream) => {
    let all = chainSeed(fromB64u(String(receiptClaims["request_hash"])), fromB64u(response_nonce))
    let data = all
    for (const [index, frame] of frames.entries()) {
      data = all
      all = chainLink(data, index, index === frames.length - 1, fromB64u(frame))
    }
    return { data: b64u(data), all: b64u(all) }
  }

  const tampered = async (evidence: Parameters<typeof verifyEvidence>[0], message: RegExp) => {
    const error = await outcome(verifyEvidence(evidence, trust))
    assert.instanceOf(error, Tampered)
    assert.match(error.message, message)
  }

  it("is verified with any of its parts missing", async () => {
    const all = { receipt, proof, recording: recorded, exchange: revealed }
    const verified = await verifyEvidence(all, trust)
    assert.strictEqual(verified.iss, identity.kid)
    assert.deepStrictEqual(verified.exchange?.receipt, verified.receipt)
    assert.strictEqual(verified.proof?.count, count + 1)
    for (const part of [
      { receipt },
      { proof },
      { exchange: revealed },
      { receipt, proof },
      { proof, recording: recorded },
      { receipt, proof, recording: recorded },
      { proof, recording: recorded, exchange: revealed },
      { exchange: committed(same) },
    ]) {
      assert.strictEqual((await verifyEvidence(part, trust)).iss, identity.kid)
    }
    await tampered({}, /no signed statement/)
    await tampered({ receipt, recording: recorded }, /without its proof/)
    await tampered({ receipt: signedReceipt({ software: "x" }), exchange: revealed }, /not that of the revealed/)
  })

  it("is refused if its request has no time of issue", async () => {
    const exchange = committed((request) => ({ ...request, issued_at: { toString: 1 } }))
    await tampered({ exchange }, /issued_at \(no time\)/)
  })

  it("is verified if the stream has 150,000 frames", async () => {
    const begin = JSON.stringify({ deltas: [{ type: "message_start", message: { model: "m" } }] })
    const piece = JSON.stringify({ deltas: [{ type: "ping" }] })
    const long: RevealedExchange = { ...revealed, responses: [begin, ...Array.from({ length: 149_999 }, () => piece)] }
    const ofMessages = (request: Claims) => ({ ...request, api: "messages" })
    const claims = { count: long.responses.length, status: "failed", finish_reasons: [], usage: null, model: "m" }
    const { exchange } = await verifyEvidence({ exchange: committed(ofMessages, same, claims, long) }, trust)
    assert.strictEqual(exchange?.responses.length, long.responses.length)
    assert.deepStrictEqual(provenAnswer(exchange ?? assert.fail("there is none"))?.models, ["m"])
  })

  it.each<readonly [string, Claims, Claims, RegExp]>([
    ["count", {}, { count: 99 }, /count with the final frame \(6 and 99\)/],
    ["count of the receipt", { count: 4 }, {}, /count with the final frame \(5 and 6\)/],
    ["form", { form: "complete", count: 1 }, { count: 2 }, /: form\.$/],
    ["session_id", {}, { session_id: b64u(Buffer.alloc(16)) }, /different exchanges: session_id/],
    ["request_hash", {}, { request_hash: nothing }, /different exchanges: request_hash/],
    ["time", {}, { iat: iat - 1 }, /backwards: the proof's iat \(\d+\) is before the receipt's iat/],
    ["several", { form: "complete", count: 1 }, { count: 9 }, /form, count with/],
  ])("is refused if receipt and proof differ in %s", async (_, ofReceipt, ofProof, message) => {
    await tampered({ receipt: signedReceipt(ofReceipt), proof: signedProof(ofProof) }, message)
  })

  it.each<readonly [string, Claims, RegExp]>([
    ["was complete before it came", { completed_at: iat - 10 }, /completed_at \(\d+\) is before received_at/],
    ["was signed before it was complete", { iat: iat - 1 }, /the receipt's iat \(\d+\) is before completed_at/],
    ["has a whole answer in parts", { form: "complete" }, /one data frame, not 5/],
    ["has a whole answer in no part", { form: "complete", count: 0 }, /one data frame, not 0/],
    ["is of a form that has no receipts", { form: "problem" }, /form/],
  ])("is refused if the receipt %s", async (_, change, message) => {
    await tampered({ receipt: signedReceipt(change) }, message)
  })

  it("is refused if a statement does not cover its recording", async () => {
    await tampered({ receipt: signedReceipt({ root: nothing }), proof, recording: recorded }, /receipt does not cover/)
    await tampered({ receipt, proof: signedProof({ root: nothing }), recording: recorded }, /proof does not cover/)
    for (const counted of [count, count + 2]) {
      await tampered({ proof: signedProof({ count: counted }), recording: recorded }, /proof does not cover/)
    }
    await tampered({ receipt, proof, recording: { ...recorded, response_nonce: "AAAA" } }, /response_nonce/)
    const none = { response_nonce: recorded.response_nonce, frames: [] }
    await tampered({ proof, recording: none }, /proof does not cover/)
    const { root } = receiptClaims
    await tampered({ proof: signedProof({ count: 0, root }), recording: none }, /a stream has a final frame/)
    await tampered({ proof: signedProof({ count: 0 }) }, /a stream has a final frame/)
  })

  it("is refused if a recorded frame is too small for its payload", async () => {
    // Every signature and commitment is right; only, what is revealed did not fit into what was recorded.
    const longer = committed(same, (payload, index) =>
      index === 3 ? { ...payload, padding: "x".repeat(600) } : payload,
    )
    await tampered({ exchange: longer, proof, recording: recorded }, /frame 3 has another size/)
    assert.isDefined((await verifyEvidence({ exchange: longer, proof }, trust)).exchange)
  })

  it("is refused if a recorded frame is too large for its payload", async () => {
    const sized = (change: (size: number, index: number) => number) => {
      const frames = recorded.frames.map((frame, index) =>
        b64u(Buffer.alloc(change(Buffer.from(frame, "base64url").length, index))),
      )
      const { all, data } = rootsOf({ ...recorded, frames })
      return {
        recording: { ...recorded, frames },
        proof: signedProof({ root: all }),
        exchange: { ...revealed, receipt: signedReceipt({ root: data }) },
      }
    }
    const last = recorded.frames.length - 1
    for (const wider of [1, 512]) {
      await tampered(
        sized((size, index) => (index === 1 ? size + wider : size)),
        /frame 1 has another size/,
      )
      await tampered(
        sized((size, index) => (index === 1 ? size - wider : size)),
        /frame 1 has another size/,
      )
    }
    for (const part of [sized((size) => size), sized((size, index) => (index === last ? size + 4096 : size))]) {
      assert.isDefined((await verifyEvidence(part, trust)).proof)
    }
  })

  it("is refused if the recording has another number of frames", async () => {
    for (const counted of [count - 1, count + 1]) {
      await tampered({ exchange: { ...revealed, receipt: signedReceipt({ count: counted }) } }, /number of data frames/)
    }
  })

  const stream = (completion: Claims) => ({ body: { ...completion, stream: false } })
  const asked = (payload: Claims): Claims => Object(payload["body"])
  const inLast = (change: Claims) => (payload: Claims, index: number) =>
    index === count - 1
      ? { deltas: [...deltasOf(payload).slice(0, -1), { ...deltasOf(payload).at(-1), ...change }] }
      : payload
  const deltasOf = ({ deltas }: Claims) => deltas as ReadonlyArray<Claims>

  it.each<readonly [string, RevealedExchange, RegExp]>([
    ["the receipt's request", committed((payload) => ({ ...payload, request_id: "other" })), /jti/],
    ["the form", committed((payload) => ({ ...payload, ...stream(asked(payload)) })), /contradict each other: form/],
    [
      "the provider",
      committed((payload) => ({ ...payload, provider: "provider9" })),
      /contradict each other: provider/,
    ],
    ["beginning again", committed((payload) => ({ ...payload, restart: false })), /starts over/],
    [
      "the time it came at",
      committed(same, same, { received_at: 2_777_000_000, completed_at: 2_777_000_000, iat: 2_777_000_000 }),
      /more than 60 s apart/,
    ],
    ["who took over", committed(same, same, { provider: "provider1" }), /contradict each other: provider/],
    ["the model", committed(same, same, { model: "model-c" }), /model/],
    ["why it ended", committed(same, same, { finish_reasons: ["stop"] }), /contradict each other: finish_reasons/],
    ["the tokens", committed(same, inLast({ usage: { total_tokens: 1 } })), /usage/],
    ["what a frame holds", committed(same, () => ({})), /has no array of deltas/],
  ])("is refused if request, answer and receipt differ in %s", async (_, exchange, message) => {
    await tampered({ exchange }, message)
  })

  it("may lack facts that only the missing parts of an incomplete answer contain", async () => {
    const broken = { status: "failed", finish_reasons: [], usage: null, model: "unknown", provider: "provider2" }
    const exchange = committed(same, same, broken)
    assert.strictEqual((await verifyEvidence({ exchange }, trust)).receipt?.status, "failed")
    const elsewhere = committed((payload) => ({ ...payload, provider: "provider9" }), same, broken)
    await tampered({ exchange: elsewhere }, /contradict each other: provider/)
    const nowhere = committed((payload) => ({ ...payload, provider: "provider9" }), same, { ...broken, provider: null })
    assert.isDefined(await verifyEvidence({ exchange: nowhere }, trust))
  })

  it("is checked as strictly for a complete answer", async () => {
    const whole = exchangeNamed("complete")
    const [answer] = whole.response.frames
    const base = {
      receipt: whole.response.receipt ?? "",
      commit_key: b64u(unhex(whole.response.commit_key)),
      credential_commitment: b64u(unhex(whole.response.credential_commitment)),
      request: whole.request.payload,
      responses: [answer?.payload ?? ""],
    }
    assert.isDefined((await verifyEvidence({ exchange: base }, trust)).exchange)
    const resigned = (payload: string, claims: Claims = {}) => ({
      ...base,
      responses: [payload],
      receipt: statement(identity, "receipt", {
        ...whole.response.receipt_claims,
        response_commitment: b64u(responseCommitment(unhex(whole.response.commit_key), [text(payload)])),
        ...claims,
      }).statement,
    })
    await tampered({ exchange: resigned(base.responses[0] ?? "", { finish_reasons: [] }) }, /finish_reasons/)
    await tampered({ exchange: resigned(base.responses[0] ?? "", { usage: null }) }, /usage/)
    await tampered({ exchange: resigned("{}") }, /no completion/)
    await tampered({ exchange: resigned('{"restart":{}}') }, /no completion/)
  })
})
