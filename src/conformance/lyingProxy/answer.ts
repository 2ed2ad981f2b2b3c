/** The answer of a proxy: correct frames, end record, receipt and proof, except for its lie. */
import { isObject, type JsonObject } from "../../domain/json/json.ts"
import type { EndStatus, Form } from "../../domain/protocol/transcript.ts"
import { BREAK, bytesOf, type Lie, type ProxyReply, type ReplyPiece, type WireAnswer, type WireEvent } from "./Lie.ts"
import {
  b64u,
  bytes,
  chainSeed,
  type ReferenceExchange,
  filled,
  FLOOR,
  type Frame,
  type FramePlan,
  requestCommitment,
  responseCommitment,
  responseKeys,
  sealFrame,
  sha256,
  text,
  UNPACED_FLOOR,
} from "./reference.ts"
import type { Unsealed } from "./session.ts"
import { type Signers, state, type Unsigned } from "./statement.ts"

/** An honest answer. */
export interface Script {
  readonly payloads: ReadonlyArray<unknown>
  readonly status: EndStatus
  readonly problem?: object
  readonly jti: string | null
  readonly provider: string | null
  readonly model: string | null
  readonly finish_reasons: ReadonlyArray<string>
  readonly usage: JsonObject | null
  /** Seconds since the epoch. */
  readonly receivedAt: number
  readonly completedAt: number
  readonly software: string
}

interface Answering {
  readonly signers: Signers
  readonly opened: Omit<Unsealed, "payload">
  readonly form: Form
  /** Whether the stream has no pace. */
  readonly unpaced: boolean
  readonly script: Script
  readonly random: (size: number) => Buffer
  readonly lie?: Lie
}

export const formOf = ({ body }: JsonObject): Form =>
  isObject(body) && body["stream"] === true ? "stream" : "complete"

export const otherForm = (form: Form): Form => (form === "stream" ? "complete" : "stream")

export const USAGE = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }

/** Payloads of a chat completion: one, or one for each word and one for the end. */
export const chatPayloads = (form: Form, content: string): ReadonlyArray<JsonObject> => {
  const common = { id: "chatcmpl-1", created: 1_700_000_000, model: "model-1" }
  if (form === "complete") {
    const message = { role: "assistant", content, refusal: null }
    const choices = [{ index: 0, message, finish_reason: "stop" }]
    return [{ ...common, object: "chat.completion", choices, usage: USAGE }]
  }
  const chunk = (delta: JsonObject, finish_reason: string | null = null) => ({
    deltas: [{ ...common, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] }],
  })
  return [...content.split(/(?<= )/).map((word) => chunk({ role: "assistant", content: word })), chunk({}, "stop")]
}

/** Script of a complete answer that is served now. */
export const chatScript = (jti: string, payloads: ReadonlyArray<unknown>): Script => {
  const now = Math.floor(Date.now() / 1000)
  return {
    payloads,
    status: "complete",
    jti,
    provider: "provider1",
    model: "model-1",
    finish_reasons: ["stop"],
    usage: USAGE,
    receivedAt: now,
    completedAt: now,
    software: "conformance/1",
  }
}

const PROBLEM = {
  type: "urn:sealgate:problem:upstream-unavailable",
  title: "The provider did not answer.",
  status: 502,
  code: "upstream-unavailable",
  retryable: true,
}

/** Turns an honest answer into one that ends with another status. */
const endingAs = (status: EndStatus | undefined, form: Form, script: Script): Script => {
  if (status === undefined) return script
  const payloads = form === "complete" ? [null] : script.payloads
  return { ...script, payloads, status, problem: PROBLEM, finish_reasons: [], usage: null }
}

export const sealAnswer = ({ form, lie = {}, opened, random, script, signers, unpaced }: Answering) => {
  const { requestHash, sessionId } = opened
  const floor = form === "stream" && unpaced ? UNPACED_FLOOR : FLOOR
  const responseNonce = random(32)
  const keys = responseKeys(opened.secret, opened.enc, responseNonce)
  const exchange: ReferenceExchange = { keys, requestHash, responseNonce }
  const frames: Array<Frame> = []
  const push = (payload: Buffer, final: boolean) => {
    const honest: FramePlan = { index: frames.length, form, final, payload, floor, requestHash }
    frames.push(sealFrame(exchange, frames, lie.frame?.(honest) ?? honest, honest))
  }
  const root = () => b64u(frames.at(-1)?.chain ?? chainSeed(requestHash, responseNonce))

  const said = endingAs(lie.status, form, script)
  // Hooks see the payloads of chat completions.
  const data = (lie.payloads?.(script.payloads as ReadonlyArray<JsonObject>) ?? said.payloads).map(bytesOf)
  for (const payload of data) push(payload, false)
  const { finish_reasons, problem, status, usage } = said
  const commitments = {
    request: requestCommitment(keys, opened.credential, opened.payloadBytes),
    response: responseCommitment(keys.commitKey, data),
  }
  const claims: Unsigned<"receipt"> = {
    iat: said.completedAt,
    jti: said.jti,
    session_id: sessionId,
    form,
    status,
    provider: said.provider,
    model: said.model,
    finish_reasons,
    usage,
    received_at: said.receivedAt,
    completed_at: said.completedAt,
    request_hash: b64u(requestHash),
    request_commitment: b64u(commitments.request),
    root: root(),
    count: frames.length,
    response_commitment: b64u(commitments.response),
    prompt_persisted: false,
    software: said.software,
  }
  const receipt = state(signers, "receipt", claims, lie.receipt)
  const record = {
    status,
    finish_reasons,
    usage,
    ...(problem === undefined ? {} : { problem }),
    receipt: receipt.statement,
  }
  const json = bytesOf(lie.record?.(record) ?? record)
  const spaces = Buffer.alloc(Math.max(0, (lie.recordBytes ?? 0) - json.length), " ")
  push(lie.recordBytes === undefined ? filled(json) : bytes(json, spaces), true)
  const proofClaims: Unsigned<"proof"> = {
    iat: said.completedAt,
    session_id: sessionId,
    request_hash: b64u(requestHash),
    root: root(),
    count: frames.length,
  }
  const proof = state(signers, "proof", proofClaims, lie.proof)
  const wire: WireAnswer = {
    response_nonce: b64u(responseNonce),
    frames: frames.map(({ ciphertext }) => b64u(ciphertext)),
    proof: proof.statement,
  }
  return { exchange, frames, receipt, proof, commitments, wire }
}

export const eventsOf = ({ frames, proof, response_nonce }: WireAnswer): ReadonlyArray<WireEvent> => [
  { event: "open", data: { response_nonce } },
  ...frames.map((ciphertext, seq) => ({
    event: "frame",
    data: { seq, ...(seq === frames.length - 1 ? { final: true } : {}), ciphertext },
  })),
  { event: "proof", data: { proof } },
]

const render = (piece: ReplyPiece): string | Buffer | typeof BREAK =>
  typeof piece === "string" || piece === BREAK
    ? piece
    : bytes(text(`event: ${piece.event}\ndata: `), bytesOf(piece.data), text("\n\n"))

const HEADERS = { "cache-control": "no-store, no-transform", "x-content-type-options": "nosniff" }
export const MEDIA_TYPE = { complete: "application/vnd.sealgate.sealed+json", stream: "text/event-stream" } as const

/** A made-up request, for frames of another exchange. */
const foreignTo = ({ opened, random }: Answering) => ({
  ...opened,
  secret: random(opened.secret.length),
  requestHash: sha256(opened.requestHash, text("another")),
})

export const answer = (answering: Answering): ProxyReply => {
  const { form, lie = {} } = answering
  const { proof, ...sealed } = sealAnswer(answering).wire
  const others = {
    again: () => sealAnswer({ ...answering, lie: {} }).wire,
    foreign: () => sealAnswer({ ...answering, lie: {}, opened: foreignTo(answering) }).wire,
  }
  const events = eventsOf({ ...sealed, proof })
  const body =
    form === "complete"
      ? [" ", bytesOf(lie.body?.(sealed, others) ?? sealed)]
      : (lie.events?.(events, others) ?? events).map(render)
  const reply: ProxyReply = { status: 200, headers: { ...HEADERS, "content-type": MEDIA_TYPE[form] }, body }
  return lie.reply?.(reply) ?? reply
}
