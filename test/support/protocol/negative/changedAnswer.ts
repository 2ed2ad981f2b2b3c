/** Answers to a published request, made anew by the reference with something changed in them, as nobody honest would. */
import type { PublishedExchange } from "../published.ts"
import * as reference from "../reference.ts"
import { b64u, type Claims, fromHex, text } from "../reference.ts"

export interface Event {
  readonly event: string
  readonly data: unknown
}

type Json = Readonly<Record<string, unknown>>
type Signed = (claims: Claims) => string

/** A change; receives the correct value. Everything that depends on it is recomputed, so that nothing else is wrong. */
export interface Changes {
  readonly payloads?: (payloads: ReadonlyArray<string>) => ReadonlyArray<string>
  readonly receipt?: (claims: Claims) => Claims
  readonly signReceipt?: (sign: Signed, claims: Claims) => string
  readonly record?: (record: Json) => unknown
  /** The bytes of the end record. */
  readonly fill?: (record: string) => Buffer
  readonly proof?: (claims: Claims) => Claims
  readonly signProof?: (sign: Signed, claims: Claims) => string
  /** The form that frames are bound to. */
  readonly form?: reference.ReferenceForm
  /** The block of frame `index`. */
  readonly block?: (block: Buffer, index: number) => Buffer
  readonly wireFrames?: (frames: ReadonlyArray<string>) => unknown
  readonly wire?: (body: Json) => unknown
  readonly events?: (events: ReadonlyArray<Event>) => ReadonlyArray<Event | string>
}

const same = <A>(value: A): A => value
const jsonOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value))

export const renderEvents = (events: ReadonlyArray<Event | string>): string =>
  events
    .map((each) => (typeof each === "string" ? each : `event: ${each.event}\ndata: ${jsonOf(each.data)}\n\n`))
    .join("")

/** The body of the answer to a published request: JSON, or events. */
export const changedAnswer = (
  identity: reference.Identity,
  { form, request, response }: PublishedExchange,
  changes: Changes,
): string => {
  const {
    block = same,
    fill = reference.filled,
    payloads = same,
    receipt = same,
    record = same,
    proof = same,
  } = changes
  const enc = fromHex(request.enc)
  const responseNonce = fromHex(response.response_nonce)
  const requestHash = fromHex(request.request_hash)
  const keys = reference.responseKeys(fromHex(request.exported_secret), enc, responseNonce)
  const exchange: reference.Exchange = { keys, requestHash, responseNonce }
  const frames: Array<reference.Frame> = []
  const seal = (payload: Buffer, final: boolean) => {
    const index = frames.length
    const changed = (padded: Buffer) => block(padded, index)
    frames.push(reference.sealFrame(exchange, changes.form ?? form, frames, payload, final, reference.FLOOR, changed))
  }
  const sent = response.frames.filter(({ final }) => !final).map(({ payload }) => payload)
  const data = payloads(sent).map(text)
  for (const payload of data) seal(payload, false)

  const signed =
    (kind: "receipt" | "proof"): Signed =>
    (claims) =>
      reference.statement(identity, kind, claims).statement
  const claims = receipt({
    ...response.receipt_claims,
    root: b64u(frames.at(-1)?.chain ?? reference.chainSeed(requestHash, responseNonce)),
    count: data.length,
    response_commitment: b64u(reference.responseCommitment(keys.commitKey, data)),
  })
  const { signReceipt = (sign, claims) => sign(claims), signProof = (sign, claims) => sign(claims) } = changes
  const published = JSON.parse(response.frames.at(-1)?.payload ?? "{}") as Json
  const end = record({ ...published, receipt: signReceipt(signed("receipt"), claims) })
  seal(fill(jsonOf(end)), true)

  const wireFrames = frames.map(({ ciphertext }) => b64u(ciphertext))
  if (form === "complete") {
    const body = { response_nonce: b64u(responseNonce), frames: changes.wireFrames?.(wireFrames) ?? wireFrames }
    return jsonOf(changes.wire?.(body) ?? body)
  }
  const proofClaims = proof({
    ...response.proof_claims,
    root: b64u(frames.at(-1)?.chain ?? responseNonce),
    count: frames.length,
  })
  const events: ReadonlyArray<Event> = [
    { event: "open", data: { response_nonce: b64u(responseNonce) } },
    ...frames.map(({ ciphertext, final, index }) => ({
      event: "frame",
      data: { seq: index, ...(final ? { final } : {}), ciphertext: b64u(ciphertext) },
    })),
    { event: "proof", data: { proof: signProof(signed("proof"), proofClaims) } },
  ]
  return renderEvents(changes.events?.(events) ?? events)
}
