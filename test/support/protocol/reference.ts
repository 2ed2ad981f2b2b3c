/**
 * The client's side of the sealed protocol a second time, from other libraries than the product's (`hpke` and, where an
 * encapsulation has to be fixed, `@hpke/hybridkem-x-wing`), and everything of the proxy's side. Tests hold the product against it.
 */
import { createDecipheriv } from "node:crypto"
import { Aes256Gcm, CipherSuite, HkdfSha256 } from "@hpke/core"
import { XWing } from "@hpke/hybridkem-x-wing"
import * as HPKE from "hpke"
import type { SuiteName } from "../../../src/domain/protocol/suites.ts"
import { dhkem, KEM, schedule, x25519 } from "../../../src/conformance/lyingProxy/hpkeSchedule.ts"
import { type LyingIdentity, publicKeyOf } from "../../../src/conformance/lyingProxy/Identity.ts"
import { bytes, label, text, u32 } from "../../../src/conformance/lyingProxy/reference.ts"
import { signParts, state } from "../../../src/conformance/lyingProxy/statement.ts"

export * from "../../../src/conformance/lyingProxy/hpke.ts"
export * from "../../../src/conformance/lyingProxy/hpkeSchedule.ts"
export * from "../../../src/conformance/lyingProxy/Identity.ts"
export * from "../../../src/conformance/lyingProxy/reference.ts"
export { signParts, type Statement } from "../../../src/conformance/lyingProxy/statement.ts"

export type Claims = Readonly<Record<string, unknown>>

export const statement = (identity: LyingIdentity, kind: "session" | "receipt" | "proof", claims: Claims) =>
  state({ pinned: identity, stranger: identity }, kind, claims)

/** Signs any header over any payload. */
export const jws = (identity: LyingIdentity, header: object, claims: unknown) =>
  signParts(identity, text(JSON.stringify(header)), text(JSON.stringify(claims))).statement

const suiteWith = (kem: HPKE.KEMFactory) => new HPKE.CipherSuite(kem, HPKE.KDF_HKDF_SHA256, HPKE.AEAD_AES_256_GCM)
const SUITES = {
  "MLKEM768-X25519": suiteWith(HPKE.KEM_MLKEM768_X25519),
  X25519: suiteWith(HPKE.KEM_DHKEM_X25519_HKDF_SHA256),
}

/** The ephemeral private key that RFC 9180 §7.1.3 derives from keying material. */
export const ephemeralPrivateKey = async (ikm: Uint8Array): Promise<Buffer> =>
  Buffer.from(await SUITES.X25519.SerializePrivateKey((await SUITES.X25519.DeriveKeyPair(ikm, true)).privateKey))

/** The same suite, whose sender draws its "random" ephemeral key from `ikm`. */
const suiteWithEphemeral = (ikm: Uint8Array) =>
  suiteWith(() => {
    const kem = HPKE.KEM_DHKEM_X25519_HKDF_SHA256()
    return { ...kem, GenerateKeyPair: (extractable: boolean) => kem.DeriveKeyPair(ikm, extractable) }
  })

interface HpkeMessage {
  readonly enc: Buffer
  readonly ciphertext: Buffer
  readonly secret: Buffer
}

interface Sealing {
  /** Default: the one with X25519. */
  readonly suite?: SuiteName
  readonly info: Uint8Array
  readonly aad: Uint8Array
  /** Label of the export; default: the protocol's. */
  readonly exportContext?: Uint8Array
}

/** Seals with an encapsulation from the 64 bytes that the draft of X-Wing calls `eseed`. */
const sealXWing = async (
  recipient: Uint8Array,
  { aad, exportContext = label("response"), info }: Sealing,
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
  context: Sealing,
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

/** Content of a request's block. */
export const content = (credential: string, payload: Uint8Array): Buffer =>
  bytes(u32(text(credential).length), text(credential), payload)

export const aesOpen = (key: Uint8Array, nonce: Uint8Array, aad: Uint8Array, ciphertext: Buffer): Buffer => {
  const decipher = createDecipheriv("aes-256-gcm", key, nonce).setAAD(aad).setAuthTag(ciphertext.subarray(-16))
  return bytes(decipher.update(ciphertext.subarray(0, -16)), decipher.final())
}

/** Every secret between an ephemeral private key of X25519 and what HPKE opens and exports with it. */
export const hpkeSecrets = (ephemeral: Uint8Array, recipient: Uint8Array, info: Uint8Array) => {
  const agreed = x25519(ephemeral, recipient)
  const encapsulated = dhkem(agreed, publicKeyOf("X25519", ephemeral), recipient)
  return { agreed, ...encapsulated, ...schedule(KEM.X25519, encapsulated.sharedSecret, info) }
}
