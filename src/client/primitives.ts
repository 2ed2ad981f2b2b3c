/** Cryptography of the client: WebCrypto, which Node and browsers share. */
import { Aes256Gcm, CipherSuite, HkdfSha256 } from "@hpke/core"
import { type Bytes, concat } from "../domain/bytes.ts"
import type { Suite, SuiteName } from "../domain/suites.ts"
import { kemOf } from "./kems.ts"
import { EXPORT_BYTES, responseExportContext, responseKeys, responseSalt } from "../domain/transcript.ts"
import { defined } from "../domain/defined.ts"

const subtle = globalThis.crypto.subtle

export const randomBytes = (length: number): Bytes => globalThis.crypto.getRandomValues(new Uint8Array(length))

export const sha256 = async (data: Bytes): Promise<Bytes> => new Uint8Array(await subtle.digest("SHA-256", data))

export const hmac = async (key: Bytes, ...parts: ReadonlyArray<Uint8Array>): Promise<Bytes> => {
  const imported = await subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"])
  return new Uint8Array(await subtle.sign("HMAC", imported, concat(...parts)))
}

/** What both ends of a response share (sealed protocol §4.3). */
export interface ResponseKeys {
  readonly key: CryptoKey
  readonly baseNonce: Bytes
  readonly commitKey: Bytes
  readonly credentialKey: Bytes
}

export const deriveResponseKeys = async (secret: Bytes, enc: Bytes, responseNonce: Bytes): Promise<ResponseKeys> => {
  const ikm = await subtle.importKey("raw", secret, "HKDF", false, ["deriveBits"])
  const salt = responseSalt(enc, responseNonce)
  const derive = async ({ info, length }: { readonly info: Bytes; readonly length: number }) =>
    new Uint8Array(await subtle.deriveBits({ name: "HKDF", hash: "SHA-256", salt, info }, ikm, length * 8))
  const [key, baseNonce, commitKey, credentialKey] = await Promise.all([
    derive(responseKeys.key),
    derive(responseKeys.nonce),
    derive(responseKeys.commit),
    derive(responseKeys.credential),
  ])
  return {
    key: await subtle.importKey("raw", key, "AES-GCM", false, ["decrypt"]),
    baseNonce,
    commitKey,
    credentialKey,
  }
}

/** The block inside a frame, or `undefined` when it does not authenticate. */
export const openFrame = (key: CryptoKey, nonce: Bytes, aad: Bytes, ciphertext: Bytes): Promise<Bytes | undefined> =>
  subtle.decrypt({ name: "AES-GCM", iv: nonce, additionalData: aad }, key, ciphertext).then(
    (block) => new Uint8Array(block),
    () => undefined,
  )

const suites = new Map<SuiteName, Promise<CipherSuite>>()

const cipherSuiteOf = (suite: SuiteName): Promise<CipherSuite> => {
  const known = suites.get(suite)
  if (known !== undefined) return known
  const made = kemOf(suite).then((kem) => new CipherSuite({ kem, kdf: new HkdfSha256(), aead: new Aes256Gcm() }))
  suites.set(suite, made)
  // A module that failed to load may load the next time.
  made.catch(() => suites.delete(suite))
  return made
}

export interface HpkeSealed {
  readonly enc: Bytes
  readonly ciphertext: Bytes
  /** The secret exported for the response. */
  readonly secret: Bytes
}

/**
 * Seals one message in a fresh sender context and exports the response secret from it (RFC 9180, mode base).
 * `ephemeralSeed` fixes the ephemeral key, for published test vectors only.
 */
export const hpkeSeal = async (
  suite: Suite,
  recipient: Bytes,
  info: Bytes,
  aad: Bytes,
  plaintext: Bytes,
  ephemeralSeed?: Bytes,
): Promise<HpkeSealed> => {
  const hpke = await cipherSuiteOf(suite.name)
  const context = await hpke.createSenderContext({
    recipientPublicKey: await hpke.kem.deserializePublicKey(recipient),
    info,
    ...defined({ ekm: ephemeralSeed }),
  })
  const ciphertext = await context.seal(plaintext, aad)
  const secret = await context.export(responseExportContext, EXPORT_BYTES)
  return { enc: new Uint8Array(context.enc), ciphertext: new Uint8Array(ciphertext), secret: new Uint8Array(secret) }
}
