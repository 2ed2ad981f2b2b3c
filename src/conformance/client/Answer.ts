/** The answer of a case's proxy: correct frames, end record, receipt and proof, except for its lie. */
import { createCipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto"
import { type Bytes, concat, encodeBase64Url, utf8 } from "../../domain/bytes/bytes.ts"
import { isObject, type JsonObject } from "../../domain/json/json.ts"
import { floorOf, paceOf } from "../../domain/protocol/pace.ts"
import { FLOOR, pad } from "../../domain/protocol/padding.ts"
import { STATEMENT_TYPES, type StatementKind } from "../../domain/protocol/statement.ts"
import {
  chainLink,
  chainSeed,
  commitmentLength,
  type Form,
  frameAad,
  frameNonce,
  MEDIA_TYPE,
  RESPONSE_NONCE_BYTES,
  requestCommitmentPrefix,
  responseCommitmentPrefix,
  responseKeys,
  responseSalt,
  VERSION,
} from "../../domain/protocol/transcript.ts"
import { sha256 } from "../../services/sealing/sha256.ts"
import type { Identity } from "./Identity.ts"
import {
  BREAK,
  bytesOf,
  type Forgery,
  type FramePlan,
  type Lie,
  type Piece,
  type Reply,
  type Sealed,
  type StreamEvent,
} from "./Lie.ts"
import { foreignTo, type Opened } from "./Session.ts"

export interface Signers {
  readonly pinned: Identity
  readonly stranger: Identity
}

/** Signs a statement, with the changes of `forgery`. */
export const state = (
  { pinned, stranger }: Signers,
  kind: StatementKind,
  claims: JsonObject,
  forgery: Forgery = {},
): string => {
  const signer = forgery.byStranger === undefined ? pinned : stranger
  const { kid } = forgery.byStranger === "own" ? stranger : pinned
  const header = { alg: "Ed25519", typ: STATEMENT_TYPES[kind], kid }
  const body = { iss: kid, version: VERSION, ...claims }
  const parts = [forgery.header?.(header) ?? header, forgery.claims?.(body) ?? body]
  const input = parts.map((part) => encodeBase64Url(bytesOf(part))).join(".")
  const message = utf8(input)
  const statement = `${input}.${encodeBase64Url(forgery.sign?.(message, signer) ?? signer.sign(message))}`
  // A hook may return any JSON value in place of the text.
  return (forgery.whole?.(statement) ?? statement) as string
}

/** The form that a payload asks for. */
export const formOf = ({ body }: JsonObject): Form =>
  isObject(body) && body["stream"] === true ? "stream" : "complete"

/** The form of the answer. */
const answeredAs = ({ payload }: Opened, { otherForm }: Lie): Form => {
  const asked = formOf(payload)
  if (otherForm === undefined) return asked
  return asked === "stream" ? "complete" : "stream"
}

const END_RECORD_BYTES = 4092
const SPACE = 0x20

const filled = (record: Bytes, length: number): Bytes => {
  const bytes = new Uint8Array(Math.max(length, record.length)).fill(SPACE)
  bytes.set(record)
  return bytes
}

/** Payloads of an honest proxy: one completion, or three pieces of it. */
const payloadsOf = (form: Form, text: string): ReadonlyArray<JsonObject> => {
  const common = { id: "chatcmpl-1", created: 1_700_000_000, model: "model-1" }
  if (form === "complete") {
    const message = { role: "assistant", content: text, refusal: null }
    return [
      { ...common, object: "chat.completion", choices: [{ index: 0, message, finish_reason: "stop" }], usage: USAGE },
    ]
  }
  const chunk = (delta: JsonObject, finish_reason: string | null = null) => ({
    deltas: [{ ...common, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] }],
  })
  const half = Math.floor(text.length / 2)
  return [
    chunk({ role: "assistant", content: text.slice(0, half) }),
    chunk({ content: text.slice(half) }),
    chunk({}, "stop"),
  ]
}

const USAGE = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }

const PROBLEM = {
  type: "urn:sealgate:problem:upstream-unavailable",
  title: "The provider did not answer.",
  status: 502,
  code: "upstream-unavailable",
  retryable: true,
}

interface Keys {
  readonly key: Bytes
  readonly nonce: Bytes
  readonly commit: Bytes
  readonly credential: Bytes
}

const keysOf = ({ enc, secret }: Opened, responseNonce: Bytes): Keys => {
  const derive = ({ info, length }: { readonly info: Bytes; readonly length: number }) =>
    new Uint8Array(hkdfSync("sha256", secret, responseSalt(enc, responseNonce), info, length))
  return {
    key: derive(responseKeys.key),
    nonce: derive(responseKeys.nonce),
    commit: derive(responseKeys.commit),
    credential: derive(responseKeys.credential),
  }
}

const aesGcm = (key: Bytes, nonce: Bytes, aad: Bytes, block: Bytes): Bytes => {
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(aad)
  return concat(cipher.update(block), cipher.final(), cipher.getAuthTag())
}

const hmac = (key: Bytes, ...parts: ReadonlyArray<Uint8Array>): Bytes =>
  new Uint8Array(
    createHmac("sha256", key)
      .update(concat(...parts))
      .digest(),
  )

interface Answering {
  readonly signers: Signers
  readonly opened: Opened
  /** The model's text. */
  readonly text: string
  readonly lie: Lie
}

/** Seals all frames and signs their proof. */
const seal = ({ lie, opened, signers, text }: Answering): Sealed => {
  const form = answeredAs(opened, lie)
  const floor = form === "stream" ? floorOf(paceOf(opened.payload["pace"])) : FLOOR
  const responseNonce = new Uint8Array(randomBytes(RESPONSE_NONCE_BYTES))
  const keys = keysOf(opened, responseNonce)
  const frames: Array<Bytes> = []
  let chain = sha256(chainSeed(opened.requestHash, responseNonce))
  const push = (payload: Bytes, final: boolean) => {
    const index = frames.length
    const honest: FramePlan = { index, form, final, payload, floor, requestHash: opened.requestHash }
    const plan = lie.frame?.(honest) ?? honest
    const aad = frameAad(plan.form, plan.index, plan.final, plan.requestHash)
    const ciphertext = aesGcm(
      keys.key,
      frameNonce(keys.nonce, plan.index),
      aad,
      plan.block ?? pad(plan.payload, plan.floor),
    )
    chain = sha256(chainLink(chain, index, final, sha256(ciphertext)))
    frames.push(ciphertext)
  }

  const { status = "complete" } = lie
  const nothing = form === "complete" && status !== "complete" ? [null] : payloadsOf(form, text)
  const data = (lie.payloads?.(payloadsOf(form, text)) ?? nothing).map(bytesOf)
  for (const payload of data) push(payload, false)
  const now = Math.floor(Date.now() / 1000)
  const finishReasons = status === "complete" ? ["stop"] : []
  const usage = status === "complete" ? USAGE : null
  const about = { session_id: opened.sessionId, request_hash: encodeBase64Url(opened.requestHash) }
  const credential = hmac(keys.credential, opened.credential)
  const receipt = state(
    signers,
    "receipt",
    {
      ...about,
      iat: now,
      jti: opened.payload["request_id"],
      form,
      status,
      provider: "provider1",
      model: "model-1",
      finish_reasons: finishReasons,
      usage,
      received_at: now,
      completed_at: now,
      root: encodeBase64Url(chain),
      count: frames.length,
      request_commitment: encodeBase64Url(hmac(keys.commit, requestCommitmentPrefix, credential, opened.payloadBytes)),
      response_commitment: encodeBase64Url(
        hmac(keys.commit, responseCommitmentPrefix, ...data.flatMap((each) => [commitmentLength(each), each])),
      ),
      prompt_persisted: false,
      software: "conformance/1",
    },
    lie.receipt,
  )
  const problem = status === "complete" ? {} : { problem: PROBLEM }
  const record = { status, finish_reasons: finishReasons, usage, ...problem, receipt }
  push(filled(bytesOf(lie.record?.(record) ?? record), lie.recordBytes ?? END_RECORD_BYTES), true)
  const proof = { ...about, iat: now, root: encodeBase64Url(chain), count: frames.length }
  return {
    responseNonce: encodeBase64Url(responseNonce),
    frames: frames.map(encodeBase64Url),
    proof: state(signers, "proof", proof, lie.proof),
  }
}

/** Writes a sealed stream as events. */
export const eventsOf = ({ frames, proof, responseNonce }: Sealed): ReadonlyArray<StreamEvent> => [
  { event: "open", data: { response_nonce: responseNonce } },
  ...frames.map((ciphertext, seq) => ({
    event: "frame",
    data: seq === frames.length - 1 ? { seq, final: true, ciphertext } : { seq, ciphertext },
  })),
  { event: "proof", data: { proof } },
]

const render = (piece: Piece): string | Bytes | typeof BREAK =>
  typeof piece === "string" || piece === BREAK
    ? piece
    : concat(utf8(`event: ${piece.event}\ndata: `), bytesOf(piece.data), utf8("\n\n"))

const HEADERS = { "cache-control": "no-store, no-transform", "x-content-type-options": "nosniff" }

/** Returns the whole answer to an opened request. */
export const answer = (answering: Answering): Reply => {
  const { lie, opened } = answering
  const sealed = seal(answering)
  const others = {
    again: () => seal({ ...answering, lie: {} }),
    foreign: () => seal({ ...answering, lie: {}, opened: foreignTo(opened) }),
  }
  const form = answeredAs(opened, lie)
  const headers = { ...HEADERS, "content-type": MEDIA_TYPE[form] }
  if (form === "complete") {
    const body = { response_nonce: sealed.responseNonce, frames: sealed.frames }
    const reply = { status: 200, headers, body: [" ", bytesOf(lie.body?.(body, others) ?? body)] }
    return lie.reply?.(reply) ?? reply
  }
  const events = eventsOf(sealed)
  const reply = { status: 200, headers, body: (lie.events?.(events, others) ?? events).map(render) }
  return lie.reply?.(reply) ?? reply
}
