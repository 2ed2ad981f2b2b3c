/** Offline verification: what a receipt, a proof or a revealed exchange is worth, long after the proxy forgot it. */
import { type Bytes, decodeBase64Url, equalBytes, utf8 } from "../domain/bytes.ts"
import type { ProofClaims, ReceiptClaims } from "../domain/statement.ts"
import {
  chainLink,
  chainSeed,
  commitmentLength,
  KEY_BYTES,
  requestCommitmentPrefix,
  responseCommitmentPrefix,
} from "../domain/transcript.ts"
import { proofClaimsFrom, receiptClaimsFrom } from "./claims.ts"
import { decodeBytes, type JsonObject, parseObject } from "./decode.ts"
import { Tampered } from "./errors.ts"
import { hmac, sha256 } from "./primitives.ts"
import { type TrustOptions, trustKeys, verifyStatement } from "./trust.ts"

/**
 * Checks a receipt's signature and shape and returns its claims.
 *
 * @throws `PinMismatch` when its key is not pinned, `KeyMissing` when it is and is not among `keys`, `Tampered` when
 * anything about it is wrong.
 * @example
 * const claims = await verifyReceipt(receipt, { pins: [kid], keys: await (await fetch(`${proxy}/v1/keys`)).json() })
 */
export const verifyReceipt = async (receipt: string, trust: TrustOptions): Promise<ReceiptClaims> =>
  receiptClaimsFrom(await verifyStatement("receipt", receipt, await trustKeys(trust), trust.pins))

/** A stream as it can be recorded on the path: no keys are needed to check its proof. */
export interface RecordedStream {
  /** base64url, from the `open` event. */
  readonly response_nonce: string
  /** base64url ciphertexts of all frames in order, the final one included. */
  readonly frames: ReadonlyArray<string>
}

/** The chain over frames whose last one is final (sealed protocol §5). */
const chainRoot = async (requestHash: Bytes, recorded: RecordedStream): Promise<Bytes> => {
  let chain = await sha256(chainSeed(requestHash, decodeBytes(recorded.response_nonce, "response_nonce")))
  for (const [index, frame] of recorded.frames.entries()) {
    const final = index === recorded.frames.length - 1
    chain = await sha256(chainLink(chain, index, final, await sha256(decodeBytes(frame, "frame"))))
  }
  return chain
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
  if (recorded === undefined) return claims
  const root = await chainRoot(decodeBytes(claims.request_hash, "request_hash"), recorded)
  if (claims.count !== recorded.frames.length || !equalBytes(root, decodeBytes(claims.root, "root"))) {
    throw new Tampered("The proof does not cover the recorded frames.")
  }
  return claims
}

/**
 * Everything that proves an exchange to a third party. Whoever holds it can read the exchange: it is revealed on
 * purpose, by the client alone.
 */
export interface RevealedExchange {
  readonly receipt: string
  /** base64url of 32 bytes. */
  readonly commit_key: string
  /** JSON text of the request's payload. */
  readonly request: string
  /** JSON text of each data frame's payload, in order. */
  readonly responses: ReadonlyArray<string>
}

/** What a revealed exchange was found to be. */
export interface ProvenExchange {
  readonly receipt: ReceiptClaims
  readonly request: JsonObject
  readonly responses: ReadonlyArray<JsonObject>
}

/** Recomputes the commitment over the data frames' payloads. */
export const responseCommitment = (commitKey: Bytes, payloads: ReadonlyArray<Uint8Array>): Promise<Bytes> =>
  hmac(commitKey, responseCommitmentPrefix, ...payloads.flatMap((payload) => [commitmentLength(payload), payload]))

/** Recomputes the commitment over the request's payload. */
export const requestCommitment = (commitKey: Bytes, payload: Uint8Array): Promise<Bytes> =>
  hmac(commitKey, requestCommitmentPrefix, payload)

const matches = (expected: string, actual: Bytes): boolean => {
  const bytes = decodeBase64Url(expected)
  return bytes !== undefined && equalBytes(bytes, actual)
}

/**
 * Checks that the pinned identity attested exactly this request and this answer.
 *
 * @throws `PinMismatch` when the receipt's key is not pinned, `Tampered` when the receipt is wrong or does not commit
 *   to what is revealed.
 */
export const proveExchange = async (exchange: RevealedExchange, trust: TrustOptions): Promise<ProvenExchange> => {
  const receipt = await verifyReceipt(exchange.receipt, trust)
  const commitKey = decodeBytes(exchange.commit_key, "commit_key", KEY_BYTES)
  const payloads = exchange.responses.map(utf8)
  if (receipt.count !== payloads.length) throw new Tampered("The receipt is about another number of data frames.")
  if (!matches(receipt.request_commitment, await requestCommitment(commitKey, utf8(exchange.request)))) {
    throw new Tampered("The receipt does not commit to this request.")
  }
  if (!matches(receipt.response_commitment, await responseCommitment(commitKey, payloads))) {
    throw new Tampered("The receipt does not commit to this answer.")
  }
  return {
    receipt,
    request: parseObject(exchange.request, "request"),
    responses: exchange.responses.map((response) => parseObject(response, "response")),
  }
}
