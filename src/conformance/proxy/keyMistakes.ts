/** Explains why a frame does not open: tries the mistakes that implementers make in keys, transcript and associated data. */
import { createDecipheriv } from "node:crypto"
import { type Bytes, concat, decodeBase64Url, label, utf8 } from "../../domain/bytes/bytes.ts"
import {
  type Form,
  frameAad,
  frameNonce,
  KEY_BYTES,
  NONCE_BYTES,
  requestTranscript,
  TAG_BYTES,
} from "../../domain/protocol/transcript.ts"
import { sha256 } from "../../client/crypto/primitives.ts"
import type { SentRequest } from "../../client/sealed/sealRequest.ts"
import { hkdfExpand, hmac } from "../lyingProxy/reference.ts"

/** Ways to compute one part. The first one is correct and has no text. */
type Ways<A> = ReadonlyArray<readonly [mistake: string, value: A]>

interface SealedFrame {
  readonly ciphertext: Uint8Array
  readonly form: Form
  readonly index: number
  readonly final: boolean
}

const NONE = new Uint8Array()

const opens = (key: Uint8Array, nonce: Uint8Array, aad: Uint8Array, ciphertext: Uint8Array): boolean => {
  if (ciphertext.length < TAG_BYTES) return false
  const cipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(aad).setAuthTag(ciphertext.subarray(-TAG_BYTES)).update(ciphertext.subarray(0, -TAG_BYTES))
  try {
    cipher.final()
    return true
  } catch {
    return false
  }
}

const prksOf = (secret: Bytes, enc: Bytes, responseNonce: Bytes): Ways<Uint8Array> => [
  ["", hmac(concat(enc, responseNonce), secret)],
  ["the salt is response_nonce ‖ enc, and must be enc ‖ response_nonce", hmac(concat(responseNonce, enc), secret)],
  ["the salt has no response_nonce", hmac(enc, secret)],
  ["the salt has no enc", hmac(responseNonce, secret)],
  ["salt and secret are swapped in HKDF-Extract", hmac(secret, enc, responseNonce)],
  ["the keys are expanded from secret without HKDF-Extract", secret],
]

const INFOS: Ways<(name: string) => Uint8Array> = [
  ["", label],
  ["the labels of the keys have no byte 00 at their end", (name) => utf8(`sealgate/v2 ${name}`)],
  ["the labels of the keys have no prefix", (name) => concat(utf8(name), Uint8Array.of(0))],
  ["the labels of the keys are bare names", utf8],
  ["base_nonce has the label of key", () => label("key")],
]

const hashesOf = async ({ body, enc, requestHash, session }: SentRequest): Promise<Ways<Uint8Array>> => {
  const { attestationHash } = session
  const ciphertext = decodeBase64Url(body.ciphertext) ?? NONE
  const ciphertextHash = await sha256(ciphertext)
  const of = (...parts: ReadonlyArray<Uint8Array>) => sha256(concat(...parts))
  return [
    ["", requestHash],
    ["request_hash is not hashed", requestTranscript(attestationHash, enc, ciphertextHash)],
    ["request_hash has no label", await of(attestationHash, enc, ciphertextHash)],
    ["request_hash has no H(attestation)", await of(requestTranscript(NONE, enc, ciphertextHash))],
    ["request_hash has no enc", await of(requestTranscript(attestationHash, NONE, ciphertextHash))],
    [
      "request_hash has the ciphertext, and must have its hash",
      await of(requestTranscript(attestationHash, enc, ciphertext)),
    ],
  ]
}

const NONCES: Ways<(baseNonce: Uint8Array, index: number) => Uint8Array> = [
  ["", frameNonce],
  ["the nonce is the number of the frame alone", (_, index) => frameNonce(new Uint8Array(NONCE_BYTES), index)],
  ["the nonce is base_nonce for every frame", (baseNonce) => baseNonce],
]

const aadsOf = ({ final, form }: SealedFrame): Ways<(index: number, requestHash: Uint8Array) => Uint8Array> => [
  ["", (index, hash) => frameAad(form, index, final, hash)],
  [
    "the associated data has the other form",
    (index, hash) => frameAad(form === "stream" ? "complete" : "stream", index, final, hash),
  ],
  ["the associated data has the other finality", (index, hash) => frameAad(form, index, !final, hash)],
  ["the associated data has no request_hash", (index) => frameAad(form, index, final, NONE)],
  ["there is no associated data", () => NONE],
]

const indexesOf = (index: number): Ways<number> => [
  ["", index],
  ["frames are numbered from 1", index + 1],
]

/** Returns the mistakes under which a frame opens, or advice if it opens under none that are known. */
export const mistakesIn = async (sent: SentRequest, responseNonce: Bytes, frame: SealedFrame): Promise<string> => {
  const hashes = await hashesOf(sent)
  for (const [inPrk, prk] of prksOf(sent.secret, sent.enc, responseNonce)) {
    for (const [inInfo, info] of INFOS) {
      const key = hkdfExpand(prk, info("key"), KEY_BYTES)
      const baseNonce = hkdfExpand(prk, info("nonce"), NONCE_BYTES)
      for (const [inIndex, index] of indexesOf(frame.index)) {
        for (const [inNonce, nonce] of NONCES) {
          for (const [inHash, hash] of hashes) {
            for (const [inAad, aad] of aadsOf(frame)) {
              if (!opens(key, nonce(baseNonce, index), aad(index, hash), frame.ciphertext)) continue
              return [inPrk, inInfo, inIndex, inNonce, inHash, inAad].filter((mistake) => mistake !== "").join("; ")
            }
          }
        }
      }
    }
  }
  return "compare secret, keys, request_hash and associated data with docs/protocol/vectors.json"
}
