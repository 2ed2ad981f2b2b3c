/**
 * A second implementation of the sealed protocol, written from docs/protocol/README.md for being read: `node:crypto` and
 * the npm packages `hpke` and, where an encapsulation has to be fixed, `@hpke/hybridkem-x-wing`; no product code. The published vectors come from it, and tests hold the product against it.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  sign,
} from "node:crypto"
import { Aes256Gcm, CipherSuite, HkdfSha256 } from "@hpke/core"
import { XWing } from "@hpke/hybridkem-x-wing"
import * as HPKE from "hpke"

export type ReferenceForm = "complete" | "stream"

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

// ---- Identity and statements

const keyFrom = (crv: "Ed25519" | "X25519", secret: Uint8Array) =>
  createPrivateKey({
    key: bytes(fromHex(`302e020100300506032b65${crv === "Ed25519" ? "70" : "6e"}04220420`), secret),
    format: "der",
    type: "pkcs8",
  })

export const publicKeyOf = (crv: "Ed25519" | "X25519", secret: Uint8Array): Buffer =>
  createPublicKey(keyFrom(crv, secret)).export({ format: "der", type: "spki" }).subarray(-32)

export const thumbprintInput = (publicKey: Uint8Array): string =>
  `{"crv":"Ed25519","kty":"OKP","x":"${b64u(publicKey)}"}`

export interface Identity {
  readonly seed: Buffer
  readonly publicKey: Buffer
  readonly kid: string
  readonly jwk: Readonly<Record<"kty" | "crv" | "x" | "kid" | "alg" | "use", string>>
}

export const identityFrom = (seed: Buffer): Identity => {
  const publicKey = publicKeyOf("Ed25519", seed)
  const kid = b64u(sha256(text(thumbprintInput(publicKey))))
  return {
    seed,
    publicKey,
    kid,
    jwk: { kty: "OKP", crv: "Ed25519", x: b64u(publicKey), kid, alg: "Ed25519", use: "sig" },
  }
}

export type Claims = Readonly<Record<string, unknown>>

export interface Statement {
  readonly claims: Claims
  readonly signingInput: string
  readonly statement: string
}

/** Signs any two parts, whatever they hold. */
export const signParts = (seed: Uint8Array, header: Uint8Array, claims: Uint8Array) => {
  const signingInput = `${b64u(header)}.${b64u(claims)}`
  const signature = sign(null, text(signingInput), keyFrom("Ed25519", seed))
  return { signingInput, statement: `${signingInput}.${b64u(signature)}` }
}

/** Signs any header over any payload, so that statements can be forged as well as made. */
export const jws = (seed: Uint8Array, header: object, claims: Claims): Statement => ({
  claims,
  ...signParts(seed, text(JSON.stringify(header)), text(JSON.stringify(claims))),
})

export const statement = (identity: Identity, kind: "session" | "receipt" | "proof", claims: Claims): Statement =>
  jws(
    identity.seed,
    { alg: "Ed25519", typ: `sealgate-${kind}+jwt`, kid: identity.kid },
    { iss: identity.kid, version: 2, ...claims },
  )

// ---- HPKE

export type ReferenceSuite = "MLKEM768-X25519" | "X25519"

export const SUITE_IDS = {
  "MLKEM768-X25519": { kem: 25722, kdf: 1, aead: 2 },
  X25519: { kem: 32, kdf: 1, aead: 2 },
} as const

/** The suite with the given numbers. */
export const suiteNamed = (id: unknown): ReferenceSuite =>
  JSON.stringify(id) === JSON.stringify(SUITE_IDS.X25519) ? "X25519" : "MLKEM768-X25519"

const suiteWith = (kem: HPKE.KEMFactory) => new HPKE.CipherSuite(kem, HPKE.KDF_HKDF_SHA256, HPKE.AEAD_AES_256_GCM)
const SUITES = {
  "MLKEM768-X25519": suiteWith(HPKE.KEM_MLKEM768_X25519),
  X25519: suiteWith(HPKE.KEM_DHKEM_X25519_HKDF_SHA256),
}

/** X-Wing's key generation from its seed, which is also its private key. */
const xWingPublicKey = (seed: Uint8Array): Buffer => {
  const expanded = createHash("shake256", { outputLength: 96 }).update(seed).digest()
  const mlKem = createPrivateKey({
    key: bytes(fromHex("3054020100300b060960864801650304040204428040"), expanded.subarray(0, 64)),
    format: "der",
    type: "pkcs8",
  })
  const spki = createPublicKey(mlKem).export({ format: "der", type: "spki" })
  return bytes(spki.subarray(-1184), publicKeyOf("X25519", expanded.subarray(64)))
}

/** The public key of a session's 32-byte private key. */
export const sessionPublicKey = (suite: ReferenceSuite, secret: Uint8Array): Buffer =>
  suite === "X25519" ? publicKeyOf("X25519", secret) : xWingPublicKey(secret)

/** The ephemeral private key that RFC 9180 §7.1.3 derives from keying material. */
export const ephemeralPrivateKey = async (ikm: Uint8Array): Promise<Buffer> =>
  Buffer.from(await SUITES.X25519.SerializePrivateKey((await SUITES.X25519.DeriveKeyPair(ikm, true)).privateKey))

/** The same suite, whose sender draws its "random" ephemeral key from `ikm`. */
const suiteWithEphemeral = (ikm: Uint8Array) =>
  suiteWith(() => {
    const kem = HPKE.KEM_DHKEM_X25519_HKDF_SHA256()
    return { ...kem, GenerateKeyPair: (extractable: boolean) => kem.DeriveKeyPair(ikm, extractable) }
  })

export interface HpkeMessage {
  readonly enc: Buffer
  readonly ciphertext: Buffer
  readonly secret: Buffer
}

export interface HpkeContext {
  /** The one with X25519 unless another one is given. */
  readonly suite?: ReferenceSuite
  readonly info: Uint8Array
  readonly aad: Uint8Array
  /** Label of the export; default: the protocol's. */
  readonly exportContext?: Uint8Array
}

/** Seals with an encapsulation from the 64 bytes that the draft of X-Wing calls `eseed`. */
const sealXWing = async (
  recipient: Uint8Array,
  { aad, exportContext = label("response"), info }: HpkeContext,
  plaintext: Uint8Array,
  eseed: Uint8Array,
): Promise<HpkeMessage> => {
  const suite = new CipherSuite({ kem: new XWing(), kdf: new HkdfSha256(), aead: new Aes256Gcm() })
  const context = await suite.createSenderContext({
    recipientPublicKey: await suite.kem.deserializePublicKey(recipient),
    info,
    ekm: new Uint8Array(eseed),
  })
  return {
    enc: Buffer.from(context.enc),
    ciphertext: Buffer.from(await context.seal(new Uint8Array(plaintext), new Uint8Array(aad))),
    secret: Buffer.from(await context.export(new Uint8Array(exportContext), 32)),
  }
}

/** `fixed` makes the encapsulation: the ephemeral key's material, or X-Wing's `eseed`. */
export const hpkeSeal = async (
  recipient: Uint8Array,
  context: HpkeContext,
  plaintext: Uint8Array,
  fixed?: Uint8Array,
): Promise<HpkeMessage> => {
  const { aad, exportContext = label("response"), info, suite = "X25519" } = context
  if (suite === "MLKEM768-X25519" && fixed !== undefined) return sealXWing(recipient, context, plaintext, fixed)
  const sender = fixed === undefined ? SUITES[suite] : suiteWithEphemeral(fixed)
  const publicKey = await sender.DeserializePublicKey(recipient)
  const { ctx, encapsulatedSecret } = await sender.SetupSender(publicKey, { info })
  return {
    enc: Buffer.from(encapsulatedSecret),
    ciphertext: Buffer.from(await ctx.Seal(plaintext, aad)),
    secret: Buffer.from(await ctx.Export(exportContext, 32)),
  }
}

export const hpkeOpen = async (
  privateKey: Uint8Array,
  { aad, exportContext = label("response"), info, suite: name = "X25519" }: HpkeContext,
  enc: Uint8Array,
  ciphertext: Uint8Array,
): Promise<{ readonly plaintext: Buffer; readonly secret: Buffer }> => {
  const suite = SUITES[name]
  const context = await suite.SetupRecipient(await suite.DeserializePrivateKey(privateKey), enc, { info })
  return {
    plaintext: Buffer.from(await context.Open(ciphertext, aad)),
    secret: Buffer.from(await context.Export(exportContext, 32)),
  }
}

/** The bare X25519 function (RFC 7748). */
export const x25519 = (privateKey: Uint8Array, publicKey: Uint8Array): Buffer =>
  diffieHellman({
    privateKey: keyFrom("X25519", privateKey),
    publicKey: createPublicKey({
      key: bytes(fromHex("302a300506032b656e032100"), publicKey),
      format: "der",
      type: "spki",
    }),
  })

const HPKE_SUITES = {
  kem: bytes(text("KEM"), Buffer.of(0, 0x20)),
  hpke: bytes(text("HPKE"), Buffer.of(0, 0x20, 0, 1, 0, 2)),
}

/** Every secret between an ephemeral private key and what HPKE opens and exports with it (RFC 9180 §4, §5.1, §5.3). */
export const hpkeSecrets = (ephemeral: Uint8Array, recipient: Uint8Array, info: Uint8Array) => {
  const extract = (suiteId: Buffer, salt: Uint8Array, name: string, ikm: Uint8Array) =>
    hkdfExtract(salt, bytes(text("HPKE-v1"), suiteId, text(name), ikm))
  const expand = (suiteId: Buffer, prk: Uint8Array, name: string, context: Uint8Array, length: number) =>
    hkdfExpand(prk, bytes(Buffer.of(0, length), text("HPKE-v1"), suiteId, text(name), context), length)
  const { hpke, kem } = HPKE_SUITES
  const empty = Buffer.alloc(0)
  const agreed = x25519(ephemeral, recipient)
  const agreedPrk = extract(kem, empty, "eae_prk", agreed)
  const sharedSecret = expand(kem, agreedPrk, "shared_secret", bytes(publicKeyOf("X25519", ephemeral), recipient), 32)
  const hashes = [extract(hpke, empty, "psk_id_hash", empty), extract(hpke, empty, "info_hash", info)]
  const context = bytes(Buffer.of(0), ...hashes)
  const secret = extract(hpke, sharedSecret, "secret", empty)
  const exporterSecret = expand(hpke, secret, "exp", context, 32)
  return {
    agreed,
    agreedPrk,
    sharedSecret,
    secret,
    key: expand(hpke, secret, "key", context, 32),
    exporterSecret,
    exported: expand(hpke, exporterSecret, "sec", label("response"), 32),
  }
}

/** An end record, filled with spaces so that its block has 4096 bytes, or twice as many, and so on. */
export const filled = (record: string): Buffer => {
  const length = text(record).length
  return text(record + " ".repeat(Math.ceil((length + 4) / 4096) * 4096 - 4 - length))
}

// ---- Requests

/** Content of a request's block. */
export const content = (credential: string, payload: Uint8Array): Buffer =>
  bytes(u32(text(credential).length), text(credential), payload)

/** The payload behind a credential. */
export const payloadIn = (inside: Buffer): Buffer => inside.subarray(4 + inside.readUInt32BE(0))

export const initHash = (body: string): string => b64u(sha256(text(body)))

export const requestInfo = (attestation: string): Buffer => bytes(label("request"), sha256(text(attestation)))
export const requestAad = (sessionId: Uint8Array): Buffer => bytes(label("request-aad"), sessionId)

export const requestHash = (attestation: string, enc: Uint8Array, ciphertext: Uint8Array): Buffer =>
  sha256(label("transcript"), sha256(text(attestation)), enc, sha256(ciphertext))

// ---- Responses

export interface ResponseKeys {
  readonly prk: Buffer
  readonly key: Buffer
  readonly baseNonce: Buffer
  readonly commitKey: Buffer
  readonly credentialKey: Buffer
}

export const responseKeys = (secret: Uint8Array, enc: Uint8Array, responseNonce: Uint8Array): ResponseKeys => {
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

export const frameAad = (form: ReferenceForm, index: number, final: boolean, hash: Uint8Array): Buffer =>
  bytes(label("frame"), Buffer.of(FORM_BYTE[form]), u64(index), Buffer.of(final ? 1 : 0), hash)

export const aesSeal = (key: Uint8Array, nonce: Uint8Array, aad: Uint8Array, plaintext: Uint8Array): Buffer => {
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(aad)
  return bytes(cipher.update(plaintext), cipher.final(), cipher.getAuthTag())
}

export const aesOpen = (key: Uint8Array, nonce: Uint8Array, aad: Uint8Array, ciphertext: Buffer): Buffer => {
  const decipher = createDecipheriv("aes-256-gcm", key, nonce).setAAD(aad).setAuthTag(ciphertext.subarray(-16))
  return bytes(decipher.update(ciphertext.subarray(0, -16)), decipher.final())
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

export interface Exchange {
  readonly keys: ResponseKeys
  readonly requestHash: Buffer
  readonly responseNonce: Buffer
}

/** Seals `payload` as the frame that follows `frames`, in a block that `change` may make a wrong one. */
export const sealFrame = (
  { keys, requestHash, responseNonce }: Exchange,
  form: ReferenceForm,
  frames: ReadonlyArray<Frame>,
  payload: Buffer,
  final: boolean,
  floor = FLOOR,
  change: (block: Buffer) => Buffer = (block) => block,
): Frame => {
  const index = frames.length
  const padded = change(block(payload, floor))
  const nonce = frameNonce(keys.baseNonce, index)
  const aad = frameAad(form, index, final, requestHash)
  const ciphertext = aesSeal(keys.key, nonce, aad, padded)
  const previous = frames.at(-1)?.chain ?? chainSeed(requestHash, responseNonce)
  return {
    index,
    final,
    payload,
    block: padded,
    nonce,
    aad,
    ciphertext,
    chain: chainLink(previous, index, final, ciphertext),
  }
}

interface CommitmentKeys {
  readonly commitKey: Uint8Array
  readonly credentialKey: Uint8Array
}

export const credentialCommitment = ({ credentialKey }: CommitmentKeys, credential: string): Buffer =>
  hmac(credentialKey, text(credential))

export const requestCommitment = (keys: CommitmentKeys, credential: string, payload: Uint8Array): Buffer =>
  hmac(keys.commitKey, label("request"), credentialCommitment(keys, credential), payload)

export const responseCommitment = (commitKey: Uint8Array, payloads: ReadonlyArray<Uint8Array>): Buffer =>
  hmac(commitKey, label("response"), ...payloads.flatMap((payload) => [u32(payload.length), payload]))
