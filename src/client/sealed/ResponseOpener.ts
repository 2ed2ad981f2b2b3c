/** Opens the frames of one response and follows its chain (sealed protocol §4.3 to §5). */
import { type Bytes, encodeBase64Url, fromUtf8, utf8 } from "../../domain/bytes/bytes.ts"
import { endRecordLength, FLOOR, unpad } from "../../domain/protocol/padding.ts"
import type { Problem } from "../../domain/problems/problemTypes.ts"
import type { ProofClaims, ReceiptClaims } from "../../domain/protocol/statement.ts"
import {
  chainLink,
  chainSeed,
  type EndStatus,
  type Form,
  frameAad,
  frameNonce,
  RESPONSE_NONCE_BYTES,
} from "../../domain/protocol/transcript.ts"
import { equalJson, mustAgree, mustBeSound, mustBeTimely, mustFit } from "../verification/agreement.ts"
import { proofClaimsFrom, receiptClaimsFrom, STATUSES } from "../verification/claims.ts"
import { answerFrom, decodeBytes, literal, objectMember, problemFrom, string } from "../verification/decode.ts"
import type { ProvenCode } from "../attestation/Policy.ts"
import { isObject, type JsonObject, parseJson } from "../../domain/json/json.ts"
import { Tampered } from "../errors.ts"
import { deriveResponseKeys, hmac, type ResponseKeys, sha256 } from "../crypto/primitives.ts"
import { longestSince } from "./clocks.ts"
import type { SentRequest } from "./sealRequest.ts"
import { type TrustedKeys, verifyStatement } from "../verification/trust.ts"
import { requestCommitment, responseCommitment, type RevealedExchange } from "../verification/verify.ts"

/** The end of a response, verified. */
export interface VerifiedEnd {
  readonly status: EndStatus
  readonly receipt: ReceiptClaims
  readonly problem: Problem | undefined
  /** The code that served it, if a policy proved it. */
  readonly code: ProvenCode | undefined
  /** Everything needed to prove the exchange to a third party; holding it means being able to read it. */
  readonly evidence: RevealedExchange
}

/** An opened frame with the chain up to it, for observers of an answer. */
export interface VerifiedFrame {
  readonly index: number
  readonly final: boolean
  /** Sealed, in bytes. */
  readonly size: number
  /** The rolling chain over all frames up to this one, in base64url (sealed protocol §5). */
  readonly chain: string
  /** `null` if a complete answer has none. */
  readonly payload: JsonObject | null
}

/** All payloads of an answer stay in memory until its receipt is checked. */
const MAX_ANSWER_BYTES = 128 * 1024 * 1024
/** Memory of a frame besides its payload, in bytes. */
const FRAME_BYTES = 512

/** Layout of a response's frames. */
export interface Layout {
  readonly form: Form
  /** Most memory for payloads in bytes; the default is 128 MiB. */
  readonly mostBytes?: number
  /** Smallest block; the default fits everything except unpaced streams. */
  readonly floor?: number
  readonly onFrame?: ((frame: VerifiedFrame) => void) | undefined
}

export class ResponseOpener {
  private readonly sent: SentRequest
  private readonly trusted: TrustedKeys
  private readonly layout: Layout
  private readonly keys: ResponseKeys
  private readonly payloads: Array<Bytes> = []
  /** Parsed payloads of the data frames. */
  private readonly answers: Array<JsonObject | null> = []
  private chain: Bytes
  /** The chain after the data frames alone, which the receipt covers. */
  private dataChain: Bytes
  private frames = 0
  private size = 0
  private ended = false

  private constructor(sent: SentRequest, trusted: TrustedKeys, layout: Layout, keys: ResponseKeys, chain: Bytes) {
    this.sent = sent
    this.trusted = trusted
    this.layout = layout
    this.keys = keys
    this.chain = chain
    this.dataChain = chain
  }

  static async begin(
    sent: SentRequest,
    trusted: TrustedKeys,
    layout: Layout,
    nonceText: string,
  ): Promise<ResponseOpener> {
    const nonce = decodeBytes(nonceText, "response_nonce", RESPONSE_NONCE_BYTES)
    const keys = await deriveResponseKeys(sent.secret, sent.enc, nonce)
    return new ResponseOpener(sent, trusted, layout, keys, await sha256(chainSeed(sent.requestHash, nonce)))
  }

  /** Opens the next frame and returns its object. Throws `Tampered` unless it is exactly the expected frame. */
  async open(ciphertextText: string, final: boolean): Promise<JsonObject> {
    const payload = await this.openAnswer(ciphertextText, final)
    if (payload === null) throw new Tampered("A frame is empty.")
    return payload
  }

  /** Like `open`, but also accepts `null`, which stands for a missing answer. */
  async openAnswer(ciphertextText: string, final = false): Promise<JsonObject | null> {
    if (this.ended) throw new Tampered("There is a frame after the final one.")
    const index = this.frames++
    const ciphertext = decodeBytes(ciphertextText, "ciphertext")
    const block = await this.keys.open(
      frameNonce(this.keys.baseNonce, index),
      frameAad(this.layout.form, index, final, this.sent.requestHash),
      ciphertext,
    )
    if (block === undefined) throw new Tampered(`Frame ${index} is not authentic.`)
    const payload = unpad(block, this.layout.floor ?? FLOOR)
    if (payload === undefined) throw new Tampered(`Frame ${index} is not padded as it must be.`)
    if (final && payload.length !== endRecordLength(payload.length)) {
      throw new Tampered("The end record does not have the size that end records are padded to.")
    }
    this.size += payload.length + FRAME_BYTES
    if (this.size > (this.layout.mostBytes ?? MAX_ANSWER_BYTES)) throw new Tampered("The answer is too long.")
    this.chain = await sha256(chainLink(this.chain, index, final, await sha256(ciphertext)))
    if (final) this.ended = true
    else {
      this.payloads.push(payload)
      this.dataChain = this.chain
    }
    const answer = answerFrom(payload, `frame ${index}`)
    if (!final) this.answers.push(answer)
    const chain = encodeBase64Url(this.chain)
    this.layout.onFrame?.({ index, final, size: ciphertext.length, chain, payload: answer })
    return answer
  }

  /** Verifies the end record of a response whose final frame was opened. */
  async end(record: JsonObject): Promise<VerifiedEnd> {
    const { commitKey, credentialKey } = this.keys
    const credential = await hmac(credentialKey, [utf8(this.sent.credential)])
    const status = literal(record, "status", STATUSES)
    const statement = string(record, "receipt")
    const receipt = receiptClaimsFrom(await verifyStatement("receipt", statement, this.trusted))
    this.must(receipt.iss === this.sent.session.kid, "was signed by another identity than the session")
    this.must(receipt.session_id === this.sent.session.id, "is about another session")
    // A proxy that could not read the request does not know its id.
    const isUnread = receipt.jti === null && status === "failed"
    this.must(receipt.jti === this.sent.requestId || isUnread, "is about another request")
    this.must(receipt.request_hash === encodeBase64Url(this.sent.requestHash), "is about another request")
    this.must(receipt.form === this.layout.form && receipt.status === status, "contradicts the end record")
    this.must(
      equalJson([receipt.finish_reasons, receipt.usage], [record["finish_reasons"], record["usage"]]),
      "contradicts the end record",
    )
    this.must(
      status === "complete" || isObject(record["problem"]),
      "reports a failure, but the end record has no problem",
    )
    mustBeSound(receipt, this.sent.session.begunAt)
    mustBeTimely(receipt.received_at, receipt.iat, this.elapsed())
    this.must(receipt.count === this.payloads.length, "counts other frames than those received")
    this.must(receipt.root === encodeBase64Url(this.dataChain), "covers other frames than those received")
    this.must(
      receipt.request_commitment === encodeBase64Url(await requestCommitment(commitKey, credential, this.sent.payload)),
      "commits to another request",
    )
    this.must(
      receipt.response_commitment === encodeBase64Url(await responseCommitment(commitKey, this.payloads)),
      "commits to another answer",
    )
    const request = fromUtf8(this.sent.payload)
    const asked = parseJson(request)
    mustFit({ receipt, request: isObject(asked) ? asked : {}, responses: this.answers })
    return {
      status,
      receipt,
      problem: record["problem"] === undefined ? undefined : problemFrom(objectMember(record, "problem"), 502),
      code: this.sent.session.code,
      evidence: {
        receipt: statement,
        commit_key: encodeBase64Url(commitKey),
        credential_commitment: encodeBase64Url(credential),
        request,
        responses: this.payloads.map(fromUtf8),
      },
    }
  }

  /** Verifies the terminal proof of a stream whose end record was verified. */
  async prove(statement: string, end: VerifiedEnd): Promise<ProofClaims> {
    const proof = proofClaimsFrom(await verifyStatement("proof", statement, this.trusted))
    // The receipt was checked against everything else, so checking the proof against the receipt suffices.
    mustAgree(end.receipt, proof)
    mustBeTimely(end.receipt.received_at, proof.iat, this.elapsed())
    if (proof.root !== encodeBase64Url(this.chain)) {
      throw new Tampered("The terminal proof does not cover this stream.")
    }
    return proof
  }

  /** Milliseconds since the request was sealed. */
  private elapsed(): number {
    return longestSince(this.sent.sealedAt)
  }

  private must(holds: boolean, otherwise: string): void {
    if (!holds) throw new Tampered(`The receipt ${otherwise}.`)
  }
}
