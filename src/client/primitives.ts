/** Cryptography of the client: Node's own where this is Node, else WebCrypto. */
import { CipherSuite } from "@hpke/core"
import type { Bytes } from "../domain/bytes.ts"
import type { Suite, SuiteName } from "../domain/suites.ts"
import { kemOf } from "./kems.ts"
import { nodeCrypto } from "./nodeCrypto.ts"
import { nodePrimitives } from "./nodePrimitives.ts"
import { type Opener, type Primitives, webPrimitives } from "./webPrimitives.ts"
import { EXPORT_BYTES, responseExportContext, responseKeys, responseSalt } from "../domain/transcript.ts"
import { defined } from "../domain/defined.ts"

const crypto = nodeCrypto()
const primitives: Primitives = crypto === undefined ? webPrimitives : nodePrimitives(crypto)

export const randomBytes = (length: number): Bytes => globalThis.crypto.getRandomValues(new Uint8Array(length))

export const sha256 = async (data: Bytes): Promise<Bytes> => primitives.sha256(data)

export const hmac = async (key: Bytes, ...parts: ReadonlyArray<Uint8Array>): Promise<Bytes> =>
  primitives.hmac(key, ...parts)

/** What both ends of a response share (sealed protocol §4.3). */
export interface ResponseKeys {
  readonly open: Opener
  readonly baseNonce: Bytes
  readonly commitKey: Bytes
  readonly credentialKey: Bytes
}

export const deriveResponseKeys = async (secret: Bytes, enc: Bytes, responseNonce: Bytes): Promise<ResponseKeys> => {
  const expand = await primitives.hkdf(secret, responseSalt(enc, responseNonce))
  const derive = ({ info, length }: { readonly info: Bytes; readonly length: number }) => expand(info, length)
  const [key, baseNonce, commitKey, credentialKey] = await Promise.all([
    derive(responseKeys.key),
    derive(responseKeys.nonce),
    derive(responseKeys.commit),
    derive(responseKeys.credential),
  ])
  return { open: await primitives.opener(key), baseNonce, commitKey, credentialKey }
}

const suites = new Map<SuiteName, Promise<CipherSuite>>()

const cipherSuiteOf = (suite: SuiteName): Promise<CipherSuite> => {
  const known = suites.get(suite)
  if (known !== undefined) return known
  const made = kemOf(suite).then((kem) => new CipherSuite({ kem, kdf: primitives.kdf(), aead: primitives.aead() }))
  suites.set(suite, made)
  // A module that failed to load may load the next time.
  made.catch(() => suites.delete(suite))
  return made
}

/** Keys of sessions as the platform takes them: each is read once, and goes with the bytes that it was read from. */
const recipients = new WeakMap<Bytes, Promise<CryptoKey>>()

const recipientOf = ({ kem }: CipherSuite, publicKey: Bytes): Promise<CryptoKey> => {
  const known = recipients.get(publicKey)
  if (known !== undefined) return known
  const read = kem.deserializePublicKey(publicKey)
  recipients.set(publicKey, read)
  return read
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
    recipientPublicKey: await recipientOf(hpke, recipient),
    info,
    ...defined({ ekm: ephemeralSeed }),
  })
  const ciphertext = await context.seal(plaintext, aad)
  const secret = await context.export(responseExportContext, EXPORT_BYTES)
  return { enc: new Uint8Array(context.enc), ciphertext: new Uint8Array(ciphertext), secret: new Uint8Array(secret) }
}
