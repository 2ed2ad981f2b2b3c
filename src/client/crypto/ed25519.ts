/**
 * Strict, cofactorless Ed25519 verification (RFC 8032 §5.1.7). Key and `R` must be canonical and not of small order.
 *
 * - Node's crypto computes `R` and compares its bytes, so only small orders are checked here.
 * - Other platforms differ in what they refuse. There noble decodes key and signature, and WebCrypto, several times faster,
 *   checks the equation.
 * - Without Ed25519 in WebCrypto, noble checks the equation too. Its own `verify` multiplies by the cofactor, so it accepts
 *   signatures that the others refuse.
 */
import { etc, Point } from "@noble/ed25519"
import { type Bytes, concat, equalBytes } from "../../domain/bytes/bytes.ts"
import { type NodeCrypto, nodeCrypto, SPKI_PREFIX } from "./nodeCrypto.ts"

const POINT_BYTES = 32
const SIGNATURE_BYTES = 64
/** Order of the base point. `S` must be below it. */
const ORDER = Point.CURVE().n

const { subtle } = globalThis.crypto

export const verifyEd25519 = async (signature: Bytes, message: Bytes, publicKey: Bytes): Promise<boolean> => {
  try {
    const verify = await keyOf(publicKey)
    return signature.length === SIGNATURE_BYTES && (await verify(signature, message))
  } catch {
    return false
  }
}

/** Verifies signatures of one key. May also throw if the signature is malformed. */
type Verify = (signature: Bytes, message: Bytes) => boolean | Promise<boolean>

const partsOf = (signature: Bytes) => [signature.subarray(0, POINT_BYTES), signature.subarray(POINT_BYTES)] as const

/** Lets noble take variable time: nothing here is secret. */
const PUBLIC = false

const scalar = (littleEndian: Uint8Array): bigint => BigInt(`0x${etc.bytesToHex(littleEndian.toReversed())}`)

/** Decodes a point. Throws unless it is canonical and not of small order. */
const pointIn = (bytes: Bytes): Point => {
  const point = Point.fromBytes(bytes, false)
  if (point.isSmallOrder()) throw new TypeError("The point is of small order.")
  return point
}

/** The `y` coordinates of the eight points of small order, in little-endian hexadecimal. */
const SMALL_ORDER = new Set([
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
])

/** The `y` of a canonical encoding: all but the highest bit, the sign of `x`. */
const isSmallOrder = (point: Bytes): boolean => SMALL_ORDER.has(etc.bytesToHex(point.with(31, (point[31] ?? 0) & 0x7f)))

const nodeVerify = (node: NodeCrypto, publicKey: Bytes): Verify => {
  const spki = concat(SPKI_PREFIX.ed25519, publicKey)
  const key = node.createPublicKey({ key: spki, format: "der", type: "spki" })
  return (signature, message) => !isSmallOrder(partsOf(signature)[0]) && node.verify(null, message, key, signature)
}

const webVerify = async (publicKey: Bytes, A: Point): Promise<Verify> => {
  const key = await subtle.importKey("raw", publicKey, "Ed25519", false, ["verify"]).catch(() => undefined)
  return async (signature, message) => {
    const [rBytes, sBytes] = partsOf(signature)
    const [R, S] = [pointIn(rBytes), scalar(sBytes)]
    if (S >= ORDER) return false
    if (key !== undefined) return subtle.verify("Ed25519", key, signature, message)
    const hashed = await subtle.digest("SHA-512", concat(rBytes, publicKey, message))
    const k = scalar(new Uint8Array(hashed)) % ORDER
    return Point.BASE.multiply(S, PUBLIC).equals(R.add(A.multiply(k, PUBLIC)))
  }
}

/** Verifiers of the last keys. A client meets few keys and uses each often; making one takes two thirds of a check's time. */
const KEPT_KEYS = 16
const kept: Array<{ readonly publicKey: Bytes; readonly verify: Promise<Verify> }> = []

const node = nodeCrypto()

/** Throws unless the key is canonical and not of small order. */
const keyOf = (publicKey: Bytes): Promise<Verify> => {
  const known = kept.find((each) => equalBytes(each.publicKey, publicKey))
  if (known !== undefined) return known.verify
  const point = pointIn(publicKey)
  const copy = publicKey.slice()
  const verify = node === undefined ? webVerify(copy, point) : Promise.resolve(nodeVerify(node, copy))
  kept.unshift({ publicKey: copy, verify })
  kept.length = Math.min(kept.length, KEPT_KEYS)
  return verify
}
