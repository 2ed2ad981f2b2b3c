/** The client's cryptography, on Node's library in Node, else on WebCrypto. */
import type { Bytes } from "../../domain/bytes/bytes.ts"
import { HASH_BYTES, responseKeys, responseSalt } from "../../domain/protocol/transcript.ts"
import { nodeCrypto } from "./nodeCrypto.ts"
import { nodePrimitives } from "./nodePrimitives.ts"
import { type Opener, type Primitives, webPrimitives } from "./webPrimitives.ts"

const crypto = nodeCrypto()
const primitives: Primitives = crypto === undefined ? webPrimitives : nodePrimitives(crypto)

export const randomBytes = (length: number): Bytes => globalThis.crypto.getRandomValues(new Uint8Array(length))

export const { sha256 } = primitives

/** HMAC-SHA256 of the concatenated `parts`, with a key that is used once. */
export const hmac = async (key: Bytes, parts: Iterable<Uint8Array>): Promise<Bytes> =>
  (await primitives.mac(key))(HASH_BYTES, parts)

/** AES-256-GCM, the tag at the end. */
export const sealGcm = primitives.seal

const FIRST_BLOCK = Uint8Array.of(1)

/** HKDF-Expand (RFC 5869 §2.3) of up to one block; `info` is given in parts. */
export const expander = async (prk: Bytes) => {
  const mac = await primitives.mac(prk)
  return (length: number, ...info: ReadonlyArray<Uint8Array>) => mac(length, [...info, FIRST_BLOCK])
}

/** Keys of one response (sealed protocol §4.3). */
export interface ResponseKeys {
  readonly open: Opener
  readonly baseNonce: Bytes
  readonly commitKey: Bytes
  readonly credentialKey: Bytes
}

export const deriveResponseKeys = async (secret: Bytes, enc: Bytes, responseNonce: Bytes): Promise<ResponseKeys> => {
  // HKDF-Extract is the HMAC of the secret under the salt.
  const prk = await hmac(responseSalt(enc, responseNonce), [secret])
  const expand = await expander(prk)
  const derive = ({ info, length }: { readonly info: Bytes; readonly length: number }) => expand(length, info)
  const key = await derive(responseKeys.key)
  const baseNonce = await derive(responseKeys.nonce)
  const commitKey = await derive(responseKeys.commit)
  const credentialKey = await derive(responseKeys.credential)
  return { open: await primitives.opener(key), baseNonce, commitKey, credentialKey }
}
