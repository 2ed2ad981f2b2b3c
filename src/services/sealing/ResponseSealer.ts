/**
 * Seals the frames of one response and carries its hash chain and commitments (sealed protocol §4.3 to §5). The work
 * per frame depends on the frame alone, never on how long the stream already is.
 */
import { createCipheriv, createHmac, type Hmac } from "node:crypto"
import { type Bytes, concat, encodeBase64Url } from "../../domain/bytes.ts"
import type { SealedContent } from "../../domain/sealedContent.ts"
import { FLOOR, pad } from "../../domain/padding.ts"
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
} from "../../domain/transcript.ts"
import { secretBytes } from "./secretBytes.ts"
import { sha256 } from "./sha256.ts"

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

export class ResponseSealer {
  readonly responseNonce: Bytes
  readonly requestHash: Bytes
  /** base64url, for the receipt. */
  readonly requestCommitment: string
  private readonly key: Bytes
  private readonly baseNonce: Bytes
  private readonly responseMac: Hmac
  private chain: Bytes
  private dataChain: Bytes
  private frames = 0
  private dataFrames = 0
  private destroyed = false

  constructor(input: SealerInput) {
    const salt = responseSalt(input.enc, input.responseNonce)
    // HKDF (RFC 5869): one extraction for all keys, each of which is one block of the hash at most.
    const extracted = createHmac("sha256", salt).update(input.secret).digest()
    salt.fill(0)
    const derive = ({ info, length }: { readonly info: Bytes; readonly length: number }): Bytes => {
      const block = createHmac("sha256", extracted).update(concat(info, FIRST_BLOCK)).digest()
      const key = secretBytes(length)
      key.set(block.subarray(0, length))
      block.fill(0)
      return key
    }
    const commitKey = derive(responseKeys.commit)
    this.responseNonce = input.responseNonce
    this.requestHash = input.requestHash
    this.key = derive(responseKeys.key)
    this.baseNonce = derive(responseKeys.nonce)
    const credentialKey = derive(responseKeys.credential)
    const credential = createHmac("sha256", credentialKey).update(input.request.credential).digest()
    this.requestCommitment = createHmac("sha256", commitKey)
      .update(requestCommitmentPrefix)
      .update(credential)
      .update(input.request.payload)
      .digest("base64url")
    credential.fill(0)
    credentialKey.fill(0)
    extracted.fill(0)
    this.responseMac = createHmac("sha256", commitKey).update(responseCommitmentPrefix)
    this.chain = sha256(chainSeed(input.requestHash, input.responseNonce))
    this.dataChain = this.chain
    commitKey.fill(0)
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
      this.responseMac.update(commitmentLength(payload)).update(payload)
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
      response_commitment: this.responseMac.digest("base64url"),
    }
  }

  /** The chain after all frames sealed so far and how many there were: for the terminal proof. */
  summary() {
    return { root: encodeBase64Url(this.chain), count: this.frames }
  }

  /** Overwrites the keys. Nothing can be sealed afterwards. */
  destroy(): void {
    this.destroyed = true
    this.key.fill(0)
    this.baseNonce.fill(0)
  }
}
