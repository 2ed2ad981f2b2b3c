/**
 * Strict, cofactorless Ed25519 verification (RFC 8032 §5.1.7): of key and `R`, canonical encodings only, and none of small
 * order. Platforms differ in what they refuse, so noble's arithmetic reads key and signature, and the platform, several times
 * faster, is left the equation: Node's own crypto, or WebCrypto. Where that has no Ed25519, noble's arithmetic is used for that,
 * too: not its `verify`, which multiplies by the cofactor and so believes what the others do not.
 */
import { etc, Point } from "@noble/ed25519"
import { type Bytes, concat, equalBytes } from "../domain/bytes.ts"
import { nodeCrypto, SPKI_PREFIX } from "./nodeCrypto.ts"

const POINT_BYTES = 32
const SIGNATURE_BYTES = 64
/** The order of the base point, which `S` must be below. */
const ORDER = Point.CURVE().n

const { subtle } = globalThis.crypto

export const verifyEd25519 = async (signature: Bytes, message: Bytes, publicKey: Bytes): Promise<boolean> => {
  try {
    const { native, point } = keyOf(publicKey)
    if (signature.length !== SIGNATURE_BYTES) return false
    const R = pointIn(signature.subarray(0, POINT_BYTES))
    const S = scalar(signature.subarray(POINT_BYTES))
    if (S >= ORDER) return false
    const verify = await native
    if (verify !== undefined) return await verify(signature, message)
    const hashed = concat(signature.subarray(0, POINT_BYTES), publicKey, message)
    const k = scalar(new Uint8Array(await subtle.digest("SHA-512", hashed))) % ORDER
    return Point.BASE.multiply(S, PUBLIC).equals(R.add(point.multiply(k, PUBLIC)))
  } catch {
    return false
  }
}

/** To noble: nothing here is secret, so that it need not take constant time. */
const PUBLIC = false

const scalar = (littleEndian: Uint8Array): bigint => BigInt(`0x${etc.bytesToHex(littleEndian.toReversed())}`)

/** Throws where the bytes are no point that a strict check takes. */
const pointIn = (bytes: Bytes): Point => {
  const point = Point.fromBytes(bytes, false)
  if (point.isSmallOrder()) throw new TypeError("The point is of small order.")
  return point
}

type Verify = (signature: Bytes, message: Bytes) => boolean | Promise<boolean>

interface KnownKey {
  readonly publicKey: Bytes
  readonly point: Point
  /** The platform's; `undefined` where it has no Ed25519. */
  readonly native: Promise<Verify | undefined>
}

/** A client meets few keys and asks for each many times: the last ones are kept. */
const KEPT_KEYS = 16
const kept: Array<KnownKey> = []

const node = nodeCrypto()

const nativeVerify = async (publicKey: Bytes): Promise<Verify | undefined> => {
  if (node !== undefined) {
    const spki = concat(SPKI_PREFIX.ed25519, publicKey)
    const key = node.createPublicKey({ key: spki, format: "der", type: "spki" })
    return (signature, message) => node.verify(null, message, key, signature)
  }
  const key = await subtle.importKey("raw", publicKey, "Ed25519", false, ["verify"]).catch(() => undefined)
  return key && ((signature, message) => subtle.verify("Ed25519", key, signature, message))
}

/** Throws when the key is none that a strict check takes. */
const keyOf = (publicKey: Bytes): KnownKey => {
  const known = kept.find((each) => equalBytes(each.publicKey, publicKey))
  if (known !== undefined) return known
  const point = pointIn(publicKey)
  const made = { publicKey: publicKey.slice(), point, native: nativeVerify(publicKey) }
  kept.unshift(made)
  kept.length = Math.min(kept.length, KEPT_KEYS)
  return made
}
