/**
 * Seals the frames of one response and carries its hash chain and commitments (sealed protocol §4.3 to §5). The work
 * per frame depends on the frame alone, never on how long the stream already is.
 */
import { createCipheriv, createHmac, type Hmac } from "node:crypto"
import { type Bytes, concat, encodeBase64Url } from "../../domain/bytes/bytes.ts"
import type { SealedContent } from "../../domain/protocol/sealedContent.ts"
import { FLOOR, pad } from "../../domain/protocol/padding.ts"
import {
  chainLink,
  chainSeed,
  commitmentLength,
  type Form,
  frameAad,
  frameNonce,
  requestCommitmentPrefix,
  responseCommitmentPrefix,
  responseKeys,
  responseSalt,
  TAG_BYTES,
} from "../../domain/protocol/transcript.ts"
import { secretBytes } from "./secretBytes.ts"
import { HASH_BYTES, hmacSha256, sha256 } from "./sha256.ts"

interface SealerInput {
  /** The secret exported from the HPKE context; overwritten here. */
  readonly secret: Bytes
  readonly enc: Bytes
  readonly responseNonce: Bytes
  readonly requestHash: Bytes
  /** What was asked, for its commitment. */
  readonly request: SealedContent
}

const FIRST_BLOCK = Uint8Array.of(1)

/** How many blocks of the hash are kept while the response is sealed, and how many only to begin. */
const KEPT = 3
const TRANSIENT = 3

export class ResponseSealer {
  readonly responseNonce: Bytes
  readonly requestHash: Bytes
  /** base64url, for the receipt. */
  readonly requestCommitment: string
  /** All keys that are kept. */
  private readonly secrets = secretBytes(KEPT * HASH_BYTES)
  private readonly key = this.secrets.subarray(0, responseKeys.key.length)
  private readonly baseNonce = this.secrets.subarray(HASH_BYTES, HASH_BYTES + responseKeys.nonce.length)
  private readonly commitKey = this.secrets.subarray(2 * HASH_BYTES)
  /** Of a stream, from its first frame on. */
  private streamMac: Hmac | undefined
  /** Of a complete answer, once its one data frame is sealed. */
  private answerMac: Bytes | undefined
  private chain: Bytes
  private dataChain: Bytes
  private frames = 0
  private dataFrames = 0
  private destroyed = false

  constructor(input: SealerInput) {
    const transient = secretBytes(TRANSIENT * HASH_BYTES)
    const at = (memory: Bytes, block: number) => memory.subarray(block * HASH_BYTES, (block + 1) * HASH_BYTES)
    // HKDF (RFC 5869): one extraction for all keys, each of which is one block of the hash at most.
    const extracted = at(transient, 0)
    hmacSha256(extracted, responseSalt(input.enc, input.responseNonce), input.secret)
    const derive = (into: Bytes, { info }: { readonly info: Bytes }): Bytes => {
      hmacSha256(into, extracted, info, FIRST_BLOCK)
      return into
    }
    derive(at(this.secrets, 0), responseKeys.key)
    derive(at(this.secrets, 1), responseKeys.nonce)
    derive(this.commitKey, responseKeys.commit)
    const credential = derive(at(transient, 1), responseKeys.credential)
    const commitment = at(transient, 2)
    hmacSha256(credential, credential, input.request.credential)
    hmacSha256(commitment, this.commitKey, requestCommitmentPrefix, credential, input.request.payload)
    this.requestCommitment = encodeBase64Url(commitment)
    this.responseNonce = input.responseNonce
    this.requestHash = input.requestHash
    this.chain = sha256(chainSeed(input.requestHash, input.responseNonce))
    this.dataChain = this.chain
    transient.fill(0)
    input.secret.fill(0)
  }

  /** Ciphertext of the next frame: `payload`, padded to `floor` bytes at least, under AES-256-GCM, tag at the end. */
  seal(form: Form, payload: Uint8Array, final: boolean, floor = FLOOR): Bytes {
    // The overwritten key would still encrypt, but anybody could decrypt the result.
    if (this.destroyed) throw new Error("the response keys were destroyed")
    const index = this.frames++
    const cipher = createCipheriv("aes-256-gcm", this.key, frameNonce(this.baseNonce, index), {
      authTagLength: TAG_BYTES,
    })
    cipher.setAAD(frameAad(form, index, final, this.requestHash))
    const block = pad(payload, floor)
    const body = cipher.update(block)
    cipher.final()
    const ciphertext = concat(body, cipher.getAuthTag())
    block.fill(0)
    this.chain = sha256(chainLink(this.chain, index, final, sha256(ciphertext)))
    if (!final) {
      this.commit(form, payload)
      this.dataChain = this.chain
      this.dataFrames++
    }
    return ciphertext
  }

  /** The chain after the data frames, how many there were, and the commitment to them: once, for the receipt. */
  dataSummary() {
    return {
      root: encodeBase64Url(this.dataChain),
      count: this.dataFrames,
      response_commitment:
        this.answerMac === undefined ? this.macOfStream().digest("base64url") : encodeBase64Url(this.answerMac),
    }
  }

  /** The chain after all frames sealed so far and how many there were: for the terminal proof. */
  summary() {
    return { root: encodeBase64Url(this.chain), count: this.frames }
  }

  /** A complete answer has one data frame, so that its MAC is made at once. */
  private commit(form: Form, payload: Uint8Array): void {
    if (form === "stream") return void this.macOfStream().update(commitmentLength(payload)).update(payload)
    if (this.answerMac !== undefined) throw new Error("a complete answer has one data frame")
    this.answerMac = new Uint8Array(HASH_BYTES)
    hmacSha256(this.answerMac, this.commitKey, responseCommitmentPrefix, commitmentLength(payload), payload)
  }

  private macOfStream(): Hmac {
    return (this.streamMac ??= createHmac("sha256", this.commitKey).update(responseCommitmentPrefix))
  }

  /** Overwrites the keys. Nothing can be sealed afterwards. */
  destroy(): void {
    this.destroyed = true
    this.secrets.fill(0)
  }
}
