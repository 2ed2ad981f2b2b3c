/** Evidence of an exchange for offline verification. */
import type { PublishedExchange } from "../published.ts"
import { forgeries } from "../../../../src/conformance/client/cases/statements.ts"
import { type Signers, state } from "../../../../src/conformance/lyingProxy/statement.ts"
import * as reference from "../reference.ts"
import { b64u, type Claims, fromHex, text } from "../reference.ts"
import type { Vectors } from "../vectors.ts"
import { exchangeNamed, type Given, type Json, withByte } from "./common.ts"

export type Shown = Given<{
  readonly pins: ReadonlyArray<string>
  readonly evidence: Json
  readonly expect: "attack" | "answer"
}>

export interface Parts {
  readonly receipt?: string
  readonly proof?: string
  readonly recording?: { readonly response_nonce: string; readonly frames: ReadonlyArray<string> }
  readonly exchange?: {
    readonly receipt: string
    readonly commit_key: string
    readonly credential_commitment: string
    readonly request: string
    readonly responses: ReadonlyArray<string>
  }
}

export const makeEvidence = (vectors: Vectors, signers: Signers): ReadonlyArray<Shown> => {
  const { pinned: identity, stranger: OTHER } = signers
  const partsOf = ({ request, response }: PublishedExchange) => ({
    receipt: response.receipt,
    proof: response.proof ?? "",
    recording: {
      response_nonce: b64u(fromHex(response.response_nonce)),
      frames: response.frames.map(({ ciphertext }) => b64u(fromHex(ciphertext))),
    },
    exchange: {
      receipt: response.receipt,
      commit_key: b64u(fromHex(response.commit_key)),
      credential_commitment: b64u(fromHex(response.credential_commitment)),
      request: request.payload,
      responses: response.frames.filter(({ final }) => !final).map(({ payload }) => payload),
    },
  })
  const exchanges = {
    complete: exchangeNamed(vectors, "complete-x25519"),
    stream: exchangeNamed(vectors, "paced-x25519"),
  }
  const complete = partsOf(exchanges.complete)
  const stream = partsOf(exchanges.stream)
  const show = (rule: string, why: string, evidence: Parts, more: Partial<Shown> = {}): Shown => ({
    rules: [rule],
    why,
    pins: [identity.kid],
    evidence: { ...evidence },
    expect: "attack",
    ...more,
  })
  const receiptOf = (exchange: PublishedExchange, change: Claims, by = identity) =>
    reference.statement(by, "receipt", { ...exchange.response.receipt_claims, ...change, iss: by.kid }).statement
  const proofOf = (change: Claims, by = identity) =>
    reference.statement(by, "proof", { ...exchanges.stream.response.proof_claims, ...change, iss: by.kid }).statement
  /** An exchange whose receipt commits to other words than were said. */
  const revealed = (
    name: "complete" | "stream",
    change: {
      readonly request?: (payload: Json) => Json
      readonly response?: (payload: Json) => unknown
      readonly claims?: Claims
    },
  ) => {
    const { request, response } = exchanges[name]
    const keys = { commitKey: fromHex(response.commit_key), credentialKey: fromHex(response.credential_key) }
    const parsed = JSON.parse(request.payload) as Json
    const payload = JSON.stringify(change.request?.(parsed) ?? parsed)
    const responses = (name === "complete" ? complete : stream).exchange.responses.map((each) => {
      const value = JSON.parse(each) as Json
      return JSON.stringify(change.response === undefined ? value : change.response(value))
    })
    const receipt = receiptOf(exchanges[name], {
      request_commitment: b64u(reference.requestCommitment(keys, text(request.credential), text(payload))),
      response_commitment: b64u(reference.responseCommitment(keys.commitKey, responses.map(text))),
      ...change.claims,
    })
    return { exchange: { ...(name === "complete" ? complete : stream).exchange, receipt, request: payload, responses } }
  }
  const { recording } = stream
  const both = { receipt: stream.receipt, proof: stream.proof }
  return [
    show("V3", "a stream, all there is of it", stream, { expect: "answer" }),
    show("V5", "a complete exchange", { exchange: complete.exchange }, { expect: "answer" }),
    ...forgeries("receipt").flatMap(([, , why, forgery]) => {
      const receipt: unknown = state(signers, "receipt", exchanges.complete.response.receipt_claims, forgery).statement
      return typeof receipt === "string" ? [show("V1", `a receipt ${why}`, { receipt })] : []
    }),
    show("V1", "a receipt whose claims have a member twice", {
      receipt: state(signers, "receipt", exchanges.complete.response.receipt_claims, {
        claims: (claims) => JSON.stringify(claims).replace("{", '{"iat":1,'),
      }).statement,
    }),
    show("V2", "a receipt whose answer was done before its request came", {
      receipt: receiptOf(exchanges.complete, { completed_at: 1_767_225_600 }),
    }),
    show("V2", "a receipt that was signed before its answer was done", {
      receipt: receiptOf(exchanges.complete, { iat: 1_767_225_602 }),
    }),
    show("V2", "a complete answer of two data frames", { receipt: receiptOf(exchanges.complete, { count: 2 }) }),
    show("V2", "a proof of no frame", { proof: proofOf({ count: 0 }) }),
    show("V3", "a proof of another session", { ...both, proof: proofOf({ session_id: b64u(Buffer.alloc(16, 1)) }) }),
    show("V3", "a proof of another request", { ...both, proof: proofOf({ request_hash: b64u(Buffer.alloc(32, 1)) }) }),
    show("V3", "a proof that counts another number of frames", { ...both, proof: proofOf({ count: 5 }) }),
    show("V3", "a proof that is older than its receipt", { ...both, proof: proofOf({ iat: 1_767_225_630 }) }),
    show(
      "V3",
      "a proof of another identity, which is pinned as well",
      { ...both, proof: proofOf({}, OTHER) },
      { pins: [identity.kid, OTHER.kid] },
    ),
    show("V3", "a proof beside the receipt of a complete answer", {
      receipt: receiptOf(exchanges.stream, { form: "complete", count: 1 }),
      proof: proofOf({ count: 2 }),
    }),
    show("V4", "a recording without its first frame", {
      ...both,
      recording: { ...recording, frames: recording.frames.slice(1) },
    }),
    show("V4", "a recording without its last frame", {
      ...both,
      recording: { ...recording, frames: recording.frames.slice(0, -1) },
    }),
    show("V4", "a recording with one bit changed", {
      ...both,
      recording: { ...recording, frames: recording.frames.with(1, withByte(recording.frames[1] ?? "", 40)) },
    }),
    show("V4", "a recording with another nonce", {
      ...both,
      recording: { ...recording, response_nonce: b64u(Buffer.alloc(32, 1)) },
    }),
    show("V4", "a receipt with another root than its recording", {
      ...both,
      receipt: receiptOf(exchanges.stream, { root: b64u(Buffer.alloc(32, 1)) }),
      recording,
    }),
    show("V5", "another commit_key", { exchange: { ...complete.exchange, commit_key: b64u(Buffer.alloc(32, 1)) } }),
    show("V5", "the commitment to another credential", {
      exchange: { ...stream.exchange, credential_commitment: complete.exchange.credential_commitment },
    }),
    show("V5", "another question", {
      exchange: { ...complete.exchange, request: complete.exchange.request.replace("How", "Who") },
    }),
    show("V5", "another answer", {
      exchange: {
        ...complete.exchange,
        responses: complete.exchange.responses.map((each) => each.replace("Fine", "Poor")),
      },
    }),
    show("V5", "a data frame left out", {
      exchange: { ...stream.exchange, responses: stream.exchange.responses.slice(1) },
    }),
    show(
      "V6",
      "a question with another request_id",
      revealed("complete", {
        request: (payload) => ({ ...payload, request_id: "018f3b1e-7c1a-7d2b-8a3c-000000000000" }),
      }),
    ),
    show(
      "V6",
      "a question that asks for a stream",
      revealed("complete", { request: (payload) => ({ ...payload, body: { prompt: "How are you?", stream: true } }) }),
    ),
    show(
      "V6",
      "a question for another provider",
      revealed("complete", { request: (payload) => ({ ...payload, provider: "provider2" }) }),
    ),
    show(
      "V6",
      "a message that begins anew, which is forbidden by default",
      revealed("stream", {
        request: (payload) => ({ ...payload, api: "messages" }),
        response: () => ({
          restart: { reason: "truncated", provider: "provider2", model: "model-b" },
          deltas: [],
        }),
      }),
    ),
    show(
      "V6",
      "an answer that begins anew, which was forbidden",
      revealed("stream", {
        response: (payload) => ({
          restart: { reason: "truncated", provider: "provider1", model: "model-b" },
          ...payload,
        }),
      }),
    ),
    show(
      "V8",
      "a receipt of another time than the request was issued at",
      revealed("complete", {
        claims: { received_at: 2_777_000_000, completed_at: 2_777_000_000, iat: 2_777_000_000 },
      }),
    ),
    show("V7", "another model than answered", revealed("complete", { claims: { model: "model-b" } })),
    show(
      "V7",
      "other finish_reasons than the answer has",
      revealed("complete", { claims: { finish_reasons: ["length"] } }),
    ),
    show(
      "V7",
      "another usage than the answer has",
      revealed("complete", {
        response: (payload) => ({ ...payload, usage: { total_tokens: 9 } }),
        claims: { usage: { total_tokens: 8 } },
      }),
    ),
    show("V7", "no answer, and a receipt that says that there is one", revealed("complete", { response: () => null })),
    show(
      "V7",
      "an answer, and a receipt that says that there is none",
      revealed("complete", { claims: { status: "failed" } }),
    ),
    show(
      "V7",
      "another provider than took over",
      revealed("stream", {
        request: (payload) => ({ ...payload, restart: true }),
        response: (payload) => ({
          restart: { reason: "truncated", provider: "provider2", model: "model-b" },
          ...payload,
        }),
      }),
    ),
  ]
}
