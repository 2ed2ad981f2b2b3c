/** Seals the frames of one response, with its hash chain and commitments (sealed protocol §4.3 to §5). */
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
  HASH_BYTES,
  requestCommitmentPrefix,
  responseCommitmentPrefix,
  responseKeys,
  responseSalt,
  TAG_BYTES,
} from "../../domain/protocol/transcript.ts"
import { secretBytes } from "./secretBytes.ts"
import { hmacSha256, sha256 } from "./sha256.ts"

interface SealerInput {
  /** The secret exported from the HPKE context; the constructor overwrites it. */
  readonly secret: Bytes
  readonly enc: Bytes
  readonly responseNonce: Bytes
  readonly requestHash: Bytes
  readonly request: SealedContent
}

const FIRST_BLOCK = Uint8Array.of(1)

/** Secrets of hash length: those kept while the response is sealed, and those needed only to derive others. */
const KEPT = 3
const TRANSIENT = 3

export class ResponseSealer {
  readonly responseNonce: Bytes
  readonly requestHash: Bytes
  /** base64url, for the receipt. */
  readonly requestCommitment: string
  private readonly secrets = secretBytes(KEPT * HASH_BYTES)
  private readonly key = this.secrets.subarray(0, responseKeys.key.length)
  private readonly baseNonce = this.secrets.subarray(HASH_BYTES, HASH_BYTES + responseKeys.nonce.length)
  private readonly commitKey = this.secrets.subarray(2 * HASH_BYTES)
  private streamMac: Hmac | undefined
  /** Commitment to a complete answer. */
  private answerMac: Bytes | undefined
  private chain: Bytes
  private dataChain: Bytes
  private frames = 0
  private dataFrames = 0
  private destroyed = false

  constructor(input: SealerInput) {
    const transient = secretBytes(TRANSIENT * HASH_BYTES)
    const at = (memory: Bytes, block: number) => memory.subarray(block * HASH_BYTES, (block + 1) * HASH_BYTES)
    // HKDF (RFC 5869): one extraction for all keys, each of at most one hash length.
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

  /** Seals the next frame: `payload`, padded to at least `floor` bytes, under AES-256-GCM with the tag at the end. */
  seal(form: Form, payload: Uint8Array, final: boolean, floor = FLOOR): Bytes {
    // The zeroed key would still encrypt.
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

  /** Chain, count and commitment of the data frames, for the receipt. Call it once. */
  dataSummary() {
    return {
      root: encodeBase64Url(this.dataChain),
      count: this.dataFrames,
      response_commitment:
        this.answerMac === undefined ? this.macOfStream().digest("base64url") : encodeBase64Url(this.answerMac),
    }
  }

  /** Chain and count of all frames so far, for the terminal proof. */
  summary() {
    return { root: encodeBase64Url(this.chain), count: this.frames }
  }

  private commit(form: Form, payload: Uint8Array): void {
    if (form === "stream") return void this.macOfStream().update(commitmentLength(payload)).update(payload)
    if (this.answerMac !== undefined) throw new Error("a complete answer has one data frame")
    this.answerMac = new Uint8Array(HASH_BYTES)
    hmacSha256(this.answerMac, this.commitKey, responseCommitmentPrefix, commitmentLength(payload), payload)
  }

  private macOfStream(): Hmac {
    return (this.streamMac ??= createHmac("sha256", this.commitKey).update(responseCommitmentPrefix))
  }

  /** Overwrites the keys. `seal` throws afterwards. */
  destroy(): void {
    this.destroyed = true
    this.secrets.fill(0)
  }
}
