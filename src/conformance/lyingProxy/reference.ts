/**
 * A second implementation of the sealed protocol, from docs/protocol/README.md with `node:crypto` alone. It shares no code
 * with the product's sealing, so that kit, vectors and tests can contradict the product.
 */
import { createCipheriv, createHash, createHmac } from "node:crypto"
import type { Form } from "../../domain/protocol/transcript.ts"

export const bytes = (...parts: ReadonlyArray<Uint8Array>): Buffer => Buffer.concat(parts)
export const text = (value: string): Buffer => Buffer.from(value, "utf8")
export const b64u = (value: Uint8Array): string => Buffer.from(value).toString("base64url")
export const fromB64u = (value: string): Buffer => Buffer.from(value, "base64url")
export const hex = (value: Uint8Array): string => Buffer.from(value).toString("hex")
export const fromHex = (value: string): Buffer => Buffer.from(value, "hex")

export const u32 = (value: number): Buffer => {
  const buffer = Buffer.alloc(4)
  buffer.writeUInt32BE(value)
  return buffer
}

export const u64 = (value: number): Buffer => {
  const buffer = Buffer.alloc(8)
  buffer.writeBigUInt64BE(BigInt(value))
  return buffer
}

export const label = (name: string): Buffer => text(`sealgate/v2 ${name}\0`)

export const sha256 = (...parts: ReadonlyArray<Uint8Array>): Buffer =>
  createHash("sha256")
    .update(bytes(...parts))
    .digest()

export const hmac = (key: Uint8Array, ...parts: ReadonlyArray<Uint8Array>): Buffer =>
  createHmac("sha256", key)
    .update(bytes(...parts))
    .digest()

/** HKDF-Extract and HKDF-Expand with SHA-256 (RFC 5869). */
export const hkdfExtract = (salt: Uint8Array, ikm: Uint8Array): Buffer => hmac(salt, ikm)
export const hkdfExpand = (prk: Uint8Array, info: Uint8Array, length: number): Buffer => {
  if (length > 32) throw new Error("one block is enough for everything here")
  return hmac(prk, info, Buffer.of(1)).subarray(0, length)
}

const floorLog2 = (value: number): number => value.toString(2).length - 1

/** Padmé, as its paper states it. */
export const padme = (length: number): number => {
  const e = floorLog2(length)
  const s = floorLog2(e) + 1
  const granule = 2 ** (e - s)
  return Math.ceil(length / granule) * granule
}

export const FLOOR = 1024
export const UNPACED_FLOOR = 512

export const block = (payload: Uint8Array, floor: number): Buffer => {
  const content = bytes(u32(payload.length), payload)
  return bytes(content, Buffer.alloc(padme(Math.max(content.length, floor)) - content.length))
}

export const unblock = (padded: Buffer): Buffer => padded.subarray(4, 4 + padded.readUInt32BE(0))

/** An end record, filled with spaces until its block has 4096 bytes, or twice as many, and so on. */
export const filled = (record: Uint8Array): Buffer =>
  bytes(record, Buffer.alloc(Math.ceil((record.length + 4) / 4096) * 4096 - 4 - record.length, " "))

export const initHash = (body: string): string => b64u(sha256(text(body)))

export const requestInfo = (attestation: string): Buffer => bytes(label("request"), sha256(text(attestation)))
export const requestAad = (sessionId: Uint8Array): Buffer => bytes(label("request-aad"), sessionId)

export const requestHash = (attestation: string, enc: Uint8Array, ciphertext: Uint8Array): Buffer =>
  sha256(label("transcript"), sha256(text(attestation)), enc, sha256(ciphertext))

interface ReferenceKeys {
  readonly prk: Buffer
  readonly key: Buffer
  readonly baseNonce: Buffer
  readonly commitKey: Buffer
  readonly credentialKey: Buffer
}

export const responseKeys = (secret: Uint8Array, enc: Uint8Array, responseNonce: Uint8Array): ReferenceKeys => {
  const prk = hkdfExtract(bytes(enc, responseNonce), secret)
  return {
    prk,
    key: hkdfExpand(prk, label("key"), 32),
    baseNonce: hkdfExpand(prk, label("nonce"), 12),
    commitKey: hkdfExpand(prk, label("commit"), 32),
    credentialKey: hkdfExpand(prk, label("credential"), 32),
  }
}

export const frameNonce = (baseNonce: Uint8Array, index: number): Buffer => {
  const counter = bytes(Buffer.alloc(4), u64(index))
  return Buffer.from(counter.map((byte, position) => byte ^ (baseNonce[position] ?? 0)))
}

const FORM_BYTE = { complete: 1, stream: 2 } as const

export const frameAad = (form: Form, index: number, final: boolean, hash: Uint8Array): Buffer =>
  bytes(label("frame"), Buffer.of(FORM_BYTE[form]), u64(index), Buffer.of(final ? 1 : 0), hash)

export const aesSeal = (key: Uint8Array, nonce: Uint8Array, aad: Uint8Array, plaintext: Uint8Array): Buffer => {
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(aad)
  return bytes(cipher.update(plaintext), cipher.final(), cipher.getAuthTag())
}

export const chainSeed = (hash: Uint8Array, responseNonce: Uint8Array): Buffer =>
  sha256(label("chain"), hash, responseNonce)

export const chainLink = (previous: Uint8Array, index: number, final: boolean, ciphertext: Uint8Array): Buffer =>
  sha256(previous, u64(index), Buffer.of(final ? 1 : 0), sha256(ciphertext))

export interface Frame {
  readonly index: number
  readonly final: boolean
  readonly payload: Buffer
  readonly block: Buffer
  readonly nonce: Buffer
  readonly aad: Buffer
  readonly ciphertext: Buffer
  /** The chain after this frame. */
  readonly chain: Buffer
}

export interface ReferenceExchange {
  readonly keys: ReferenceKeys
  readonly requestHash: Buffer
  readonly responseNonce: Buffer
}

export interface FramePlan {
  readonly index: number
  readonly form: Form
  readonly final: boolean
  readonly payload: Buffer
  /** The smallest block, in bytes. */
  readonly floor: number
  readonly requestHash: Buffer
  /** Block in place of the padded payload. */
  readonly block?: Buffer
}

/** Seals the frame that follows `frames` as `plan` says. The chain counts it at the place of `honest`. */
export const sealFrame = (
  { keys, requestHash, responseNonce }: ReferenceExchange,
  frames: ReadonlyArray<Frame>,
  plan: FramePlan,
  honest: FramePlan = plan,
): Frame => {
  const { final, index, payload } = honest
  const padded = plan.block ?? block(plan.payload, plan.floor)
  const nonce = frameNonce(keys.baseNonce, plan.index)
  const aad = frameAad(plan.form, plan.index, plan.final, plan.requestHash)
  const ciphertext = aesSeal(keys.key, nonce, aad, padded)
  const previous = frames.at(-1)?.chain ?? chainSeed(requestHash, responseNonce)
  const chain = chainLink(previous, index, final, ciphertext)
  return { index, final, payload, block: padded, nonce, aad, ciphertext, chain }
}

interface CommitmentKeys {
  readonly commitKey: Uint8Array
  readonly credentialKey: Uint8Array
}

export const credentialCommitment = ({ credentialKey }: CommitmentKeys, credential: Uint8Array): Buffer =>
  hmac(credentialKey, credential)

export const requestCommitment = (keys: CommitmentKeys, credential: Uint8Array, payload: Uint8Array): Buffer =>
  hmac(keys.commitKey, label("request"), credentialCommitment(keys, credential), payload)

export const responseCommitment = (commitKey: Uint8Array, payloads: ReadonlyArray<Uint8Array>): Buffer =>
  hmac(commitKey, Buffer.concat([label("response"), ...payloads.flatMap((payload) => [u32(payload.length), payload])]))
