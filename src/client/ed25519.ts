/**
 * Strict Ed25519 verification (RFC 8032 §5.1.7): canonical encodings only, no key of small order. Implementations of
 * WebCrypto differ in what they refuse, so noble reads key and signature, and WebCrypto, several times faster, is left
 * the equation. Where it has no Ed25519, noble does both.
 */
import { etc, Point, verifyAsync } from "@noble/ed25519"
import { type Bytes, equalBytes } from "../domain/bytes.ts"

const POINT_BYTES = 32
const SIGNATURE_BYTES = 64
/** The order of the base point, which `S` must be below. */
const ORDER = Point.CURVE().n

const { subtle } = globalThis.crypto

export const verifyEd25519 = async (signature: Bytes, message: Bytes, publicKey: Bytes): Promise<boolean> => {
  try {
    const key = await keyOf(publicKey)
    if (key === undefined) return await verifyAsync(signature, message, publicKey, { zip215: false })
    if (signature.length !== SIGNATURE_BYTES) return false
    Point.fromBytes(signature.subarray(0, POINT_BYTES), false)
    if (scalar(signature.subarray(POINT_BYTES)) >= ORDER) return false
    return await subtle.verify("Ed25519", key, signature, message)
  } catch {
    return false
  }
}

const scalar = (littleEndian: Uint8Array): bigint => BigInt(`0x${etc.bytesToHex(littleEndian.toReversed())}`)

/** A client meets few keys and asks for each many times: the last ones are kept. */
const KEPT_KEYS = 16
const kept: Array<{ readonly publicKey: Bytes; readonly key: Promise<CryptoKey | undefined> }> = []

/** The key for WebCrypto, or `undefined` where it has no Ed25519. Throws when the key is none that a strict check takes. */
const keyOf = (publicKey: Bytes): Promise<CryptoKey | undefined> => {
  const known = kept.find((each) => equalBytes(each.publicKey, publicKey))
  if (known !== undefined) return known.key
  if (Point.fromBytes(publicKey, false).isSmallOrder()) throw new TypeError("The key is of small order.")
  const key = subtle.importKey("raw", publicKey, "Ed25519", false, ["verify"]).catch(() => undefined)
  kept.unshift({ publicKey: publicKey.slice(), key })
  kept.length = Math.min(kept.length, KEPT_KEYS)
  return key
}
