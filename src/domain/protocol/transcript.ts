/**
 * Byte layouts that a sealed exchange hashes, binds and authenticates (sealed protocol §4 and §5). Callers hash, because
 * the server's primitives are synchronous and the browser's are not.
 */
import { type Bytes, concat, label, setU64, u32, u64 } from "../bytes/bytes.ts"

/** The form of a response: one JSON body or a stream of events. */
export const FORM = { complete: 1, stream: 2 } as const
export type Form = keyof typeof FORM

/** How a response ended. Clients treat anything but `complete` as an error. */
export type EndStatus = "complete" | "failed" | "aborted"

export const VERSION = 2 as const

/** Media types of the two forms. Clients reject a 200 of another type. */
export const MEDIA_TYPE = {
  complete: "application/vnd.sealgate.sealed+json",
  stream: "text/event-stream",
} as const satisfies Readonly<Record<Form, string>>

/** Length of a SHA-256. */
export const HASH_BYTES = 32
export const SESSION_ID_BYTES = 16
export const RESPONSE_NONCE_BYTES = 32
export const KEY_BYTES = 32
export const NONCE_BYTES = 12
export const TAG_BYTES = 16
export const EXPORT_BYTES = 32
/** Largest difference between `issued_at` and the server's clock, in milliseconds. */
export const MAX_SKEW_MS = 60_000
/** Longest session, in seconds: one day. */
export const MAX_SESSION_SECONDS = 86_400

const LABELS = {
  request: label("request"),
  requestAad: label("request-aad"),
  transcript: label("transcript"),
  response: label("response"),
  key: label("key"),
  nonce: label("nonce"),
  commit: label("commit"),
  credential: label("credential"),
  frame: label("frame"),
  chain: label("chain"),
}

/** HPKE `info`: binds the exchange to the signed session offer. */
export const requestInfo = (attestationHash: Uint8Array): Bytes => concat(LABELS.request, attestationHash)

/** HPKE `aad`: binds the ciphertext to the session it names. */
export const requestAad = (sessionId: Uint8Array): Bytes => concat(LABELS.requestAad, sessionId)

/** SHA-256 of this is `request_hash`. */
export const requestTranscript = (attestationHash: Uint8Array, enc: Uint8Array, ciphertextHash: Uint8Array): Bytes =>
  concat(LABELS.transcript, attestationHash, enc, ciphertextHash)

/** Exporter context of the secret from which the response keys are derived. */
export const responseExportContext = LABELS.response

/** Salt of the HKDF-Extract step over the exported secret. */
export const responseSalt = (enc: Uint8Array, responseNonce: Uint8Array): Bytes => concat(enc, responseNonce)

/** HKDF-Expand `info` and output length in bytes of each response key. */
export const responseKeys = {
  key: { info: LABELS.key, length: KEY_BYTES },
  nonce: { info: LABELS.nonce, length: NONCE_BYTES },
  commit: { info: LABELS.commit, length: KEY_BYTES },
  credential: { info: LABELS.credential, length: KEY_BYTES },
} as const

/** Nonce of frame `index`: the base nonce with the index XORed into its last eight bytes. */
export const frameNonce = (baseNonce: Uint8Array, index: number): Bytes => {
  const nonce = new Uint8Array(baseNonce)
  const counter = u64(index)
  for (let at = 0; at < counter.length; at++) nonce[4 + at] = (nonce[4 + at] ?? 0) ^ (counter[at] ?? 0)
  return nonce
}

/** Associated data of frame `index`. */
export const frameAad = (form: Form, index: number, final: boolean, requestHash: Uint8Array): Bytes => {
  // One array, because this and the next function run for each frame.
  const aad = new Uint8Array(LABELS.frame.length + 10 + requestHash.length)
  aad.set(LABELS.frame)
  let at = LABELS.frame.length
  aad[at++] = FORM[form]
  setU64(aad, at, index)
  at += 8
  aad[at++] = final ? 1 : 0
  aad.set(requestHash, at)
  return aad
}

/** SHA-256 of this is `H_0`, the start of the rolling hash chain. */
export const chainSeed = (requestHash: Uint8Array, responseNonce: Uint8Array): Bytes =>
  concat(LABELS.chain, requestHash, responseNonce)

/** SHA-256 of this is `H_(i+1)`. */
export const chainLink = (previous: Uint8Array, index: number, final: boolean, ciphertextHash: Uint8Array): Bytes => {
  const link = new Uint8Array(previous.length + 9 + ciphertextHash.length)
  link.set(previous)
  setU64(link, previous.length, index)
  link[previous.length + 8] = final ? 1 : 0
  link.set(ciphertextHash, previous.length + 9)
  return link
}

/** First input of `request_commitment`, before the HMAC of the credential and the request's payload. */
export const requestCommitmentPrefix = LABELS.request

/** First input of `response_commitment`, before the data frames. */
export const responseCommitmentPrefix = LABELS.response

/** Input of one data frame to `response_commitment`: its payload's length, before the payload. */
export const commitmentLength = (payload: Uint8Array): Bytes => u32(payload.length)
