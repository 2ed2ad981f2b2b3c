/** Offline verification of receipts, proofs and revealed exchanges. */
import { type Bytes, encodeBase64Url, utf8 } from "../../domain/bytes/bytes.ts"
import type { ProofClaims, ReceiptClaims } from "../../domain/protocol/statement.ts"
import { floorOf, paceOf } from "../../domain/protocol/pace.ts"
import { blockSize } from "../../domain/protocol/padding.ts"
import {
  chainLink,
  chainSeed,
  commitmentLength,
  HASH_BYTES,
  KEY_BYTES,
  requestCommitmentPrefix,
  RESPONSE_NONCE_BYTES,
  responseCommitmentPrefix,
  TAG_BYTES,
} from "../../domain/protocol/transcript.ts"
import { mustAgree, mustBeSound, mustFit } from "./agreement.ts"
import { proofClaimsFrom, receiptClaimsFrom } from "./claims.ts"
import { answerFrom, decodeBytes, parseObject } from "./decode.ts"
import { Tampered } from "../errors.ts"
import type { ProvenExchange } from "./provenAnswer.ts"
import { hmac, sha256 } from "../crypto/primitives.ts"
import { type TrustOptions, trustKeys, verifyStatement } from "./trust.ts"
import { withoutUndefined } from "../../domain/json/withoutUndefined.ts"

/**
 * Checks a receipt's signature and shape, and that it does not contradict itself, and returns its claims.
 *
 * @throws `PinMismatch` when its key is not pinned, `KeyMissing` when it is and is not among `keys`, `Tampered` when
 * anything about it is wrong.
 * @example
 * const claims = await verifyReceipt(receipt, { pins: [kid], keys: await (await fetch(`${proxy}/v1/keys`)).json() })
 */
export const verifyReceipt = async (receipt: string, trust: TrustOptions): Promise<ReceiptClaims> => {
  const claims = receiptClaimsFrom(await verifyStatement("receipt", receipt, await trustKeys(trust), trust.pins))
  mustBeSound(claims)
  return claims
}

/** A stream as recorded on the path. Checking its proof needs no secret keys. */
export interface RecordedStream {
  /** base64url, from the `open` event. */
  readonly response_nonce: string
  /** base64url ciphertexts of all frames in order, the final one included. */
  readonly frames: ReadonlyArray<string>
}

/** Returns the chain after the data frames and after all frames, the last of which is final (sealed protocol §6). */
const chainRoots = async (requestHash: string, recorded: RecordedStream) => {
  const nonce = decodeBytes(recorded.response_nonce, "response_nonce", RESPONSE_NONCE_BYTES)
  let data = await sha256(chainSeed(decodeBytes(requestHash, "request_hash"), nonce))
  let all = data
  for (const [index, frame] of recorded.frames.entries()) {
    data = all
    const final = index === recorded.frames.length - 1
    all = await sha256(chainLink(data, index, final, await sha256(decodeBytes(frame, "frame"))))
  }
  return { data, all }
}

/**
 * Checks a terminal proof and, if a recording is given, that it covers exactly the recorded frames.
 *
 * @throws `PinMismatch` when its key is not pinned, `KeyMissing` when it is and is not among `keys`, `Tampered` when
 * anything about it is wrong.
 */
export const verifyProof = async (
  proof: string,
  trust: TrustOptions,
  recorded?: RecordedStream,
): Promise<ProofClaims> => {
  const claims = proofClaimsFrom(await verifyStatement("proof", proof, await trustKeys(trust), trust.pins))
  if (claims.count === 0) throw new Tampered("The proof contradicts itself: a stream has a final frame.")
  if (recorded === undefined) return claims
  const { all } = await chainRoots(claims.request_hash, recorded)
  if (claims.count !== recorded.frames.length || !matches(claims.root, all)) {
    throw new Tampered("The proof does not cover the recorded frames.")
  }
  return claims
}

/** Everything that proves an exchange to a third party. Only the client can reveal it, and its holder can read the exchange. */
export interface RevealedExchange {
  readonly receipt: string
  /** base64url of 32 bytes. */
  readonly commit_key: string
  /** base64url of 32 bytes: the HMAC of the credential, revealed in place of the credential. */
  readonly credential_commitment: string
  /** JSON text of the request's payload. */
  readonly request: string
  /** JSON text of each data frame's payload, in order. */
  readonly responses: ReadonlyArray<string>
}

/** Recomputes the commitment over the data frames' payloads. */
export const responseCommitment = (commitKey: Bytes, payloads: ReadonlyArray<Uint8Array>): Promise<Bytes> =>
  hmac(commitKey, [responseCommitmentPrefix, ...payloads.flatMap((payload) => [commitmentLength(payload), payload])])

/** Recomputes the commitment over the request: the HMAC of its credential, and its payload. */
export const requestCommitment = (
  commitKey: Bytes,
  credentialCommitment: Uint8Array,
  payload: Uint8Array,
): Promise<Bytes> => hmac(commitKey, [requestCommitmentPrefix, credentialCommitment, payload])

/** A hash has one spelling in base64url. */
const matches = (expected: string, actual: Bytes): boolean => expected === encodeBase64Url(actual)

/**
 * Checks that the pinned identity attested exactly this request and this answer.
 *
 * @throws `PinMismatch` when the receipt's key is not pinned, `Tampered` when the receipt is wrong or does not commit
 *   to what is revealed.
 */
export const proveExchange = async (exchange: RevealedExchange, trust: TrustOptions): Promise<ProvenExchange> => {
  const receipt = await verifyReceipt(exchange.receipt, trust)
  const commitKey = decodeBytes(exchange.commit_key, "commit_key", KEY_BYTES)
  const credential = decodeBytes(exchange.credential_commitment, "credential_commitment", HASH_BYTES)
  const payloads = exchange.responses.map(utf8)
  if (receipt.count !== payloads.length) throw new Tampered("The receipt is about another number of data frames.")
  if (!matches(receipt.request_commitment, await requestCommitment(commitKey, credential, utf8(exchange.request)))) {
    throw new Tampered("The receipt does not commit to this request.")
  }
  if (!matches(receipt.response_commitment, await responseCommitment(commitKey, payloads))) {
    throw new Tampered("The receipt does not commit to this answer.")
  }
  const proven: ProvenExchange = {
    receipt,
    request: parseObject(exchange.request, "request"),
    responses: exchange.responses.map((response) => answerFrom(response, "response")),
  }
  mustFit(proven)
  return proven
}

/** The kept parts of one exchange; each is optional. */
export interface Evidence {
  readonly receipt?: string | undefined
  readonly proof?: string | undefined
  /** Only with `proof`. */
  readonly recording?: RecordedStream | undefined
  readonly exchange?: RevealedExchange | undefined
}

/** Evidence that was verified. */
export interface VerifiedEvidence {
  /** The identity that signed all of it. */
  readonly iss: string
  readonly receipt?: ReceiptClaims
  readonly proof?: ProofClaims
  readonly exchange?: ProvenExchange
}

/**
 * Checks all given parts of one exchange, each by itself and against the others. Genuine parts that contradict each other
 * prove nothing.
 *
 * @throws `PinMismatch` when a key is not pinned, `KeyMissing` when it is and is not among `keys`, `Tampered` when
 * anything is wrong, or when two parts contradict each other.
 * @example
 * const { exchange } = await verifyEvidence({ ...end.statements, exchange: end.evidence }, { pins, keys })
 */
export const verifyEvidence = async (evidence: Evidence, trust: TrustOptions): Promise<VerifiedEvidence> => {
  const { recording } = evidence
  const exchange = evidence.exchange === undefined ? undefined : await proveExchange(evidence.exchange, trust)
  const statement = evidence.receipt ?? evidence.exchange?.receipt
  if (exchange !== undefined && statement !== evidence.exchange?.receipt) {
    throw new Tampered("The receipt is not that of the revealed exchange.")
  }
  const receipt = exchange?.receipt ?? (statement === undefined ? undefined : await verifyReceipt(statement, trust))
  const proof = evidence.proof === undefined ? undefined : await verifyProof(evidence.proof, trust, recording)
  if (recording !== undefined && proof === undefined)
    throw new Tampered("A recorded stream cannot be verified without its proof.")
  const iss = (receipt ?? proof)?.iss
  if (iss === undefined) throw new Tampered("It contains no signed statement.")
  if (receipt !== undefined && proof !== undefined) mustAgree(receipt, proof)
  if (receipt !== undefined && recording !== undefined) {
    const { data } = await chainRoots(receipt.request_hash, recording)
    if (!matches(receipt.root, data)) throw new Tampered("The receipt does not cover the recorded frames.")
  }
  if (exchange !== undefined && recording !== undefined)
    checkFrameSizes(recording, exchange, evidence.exchange?.responses ?? [])
  return {
    iss,
    ...withoutUndefined({ receipt, proof, exchange }),
  }
}

/** Checks the sizes of recorded frames against the revealed payloads. A verifier cannot open the frames. */
const checkFrameSizes = (
  { frames }: RecordedStream,
  { request }: ProvenExchange,
  responses: ReadonlyArray<string>,
): void => {
  const floor = floorOf(paceOf(request["pace"]))
  for (const [index, response] of responses.entries()) {
    const size = blockSize(utf8(response).length, floor) + TAG_BYTES
    if (decodeBytes(frames[index] ?? "", "frame").length !== size) {
      throw new Tampered(`Recorded frame ${index} has another size than its revealed payload.`)
    }
  }
}
