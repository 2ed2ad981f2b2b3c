/** Identities that sign statements, honestly or not. */
import { createHash, createPrivateKey, createPublicKey, sign } from "node:crypto"
import { Point } from "@noble/ed25519"
import { b64u, bytes, fromHex, sha256, text } from "./reference.ts"

export const keyFrom = (crv: "Ed25519" | "X25519", secret: Uint8Array) =>
  createPrivateKey({
    key: bytes(fromHex(`302e020100300506032b65${crv === "Ed25519" ? "70" : "6e"}04220420`), secret),
    format: "der",
    type: "pkcs8",
  })

export const publicKeyOf = (crv: "Ed25519" | "X25519", secret: Uint8Array): Buffer =>
  createPublicKey(keyFrom(crv, secret)).export({ format: "der", type: "spki" }).subarray(-32)

export const thumbprintInput = (publicKey: Uint8Array): string =>
  `{"crv":"Ed25519","kty":"OKP","x":"${b64u(publicKey)}"}`

export interface LyingIdentity {
  readonly seed: Buffer
  readonly publicKey: Buffer
  readonly kid: string
  readonly jwk: {
    readonly kty: "OKP"
    readonly crv: "Ed25519"
    readonly x: string
    readonly kid: string
    readonly alg: "Ed25519"
    readonly use: "sig"
  }
}

export const identityFrom = (seed: Buffer): LyingIdentity => {
  const publicKey = publicKeyOf("Ed25519", seed)
  const kid = b64u(sha256(text(thumbprintInput(publicKey))))
  const jwk = { kty: "OKP", crv: "Ed25519", x: b64u(publicKey), kid, alg: "Ed25519", use: "sig" } as const
  return { seed, publicKey, kid, jwk }
}

/** Signs the header and payload of a statement. */
export type Sign = (message: Buffer, identity: LyingIdentity) => Uint8Array

export const signEd25519: Sign = (message, { seed }) => sign(null, message, keyFrom("Ed25519", seed))

const { n: ORDER, p: PRIME } = Point.CURVE()

const numberOf = (littleEndian: Uint8Array): bigint =>
  littleEndian.reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n)

const littleEndian = (value: bigint): Buffer =>
  Buffer.from(Array.from({ length: 32 }, (_, index) => Number((value >> BigInt(8 * index)) & 0xffn)))

const sha512 = (...parts: ReadonlyArray<Uint8Array>): Buffer =>
  createHash("sha512")
    .update(bytes(...parts))
    .digest()

/** Derives the scalar of a seed (RFC 8032 §5.1.5). */
const scalarOf = (seed: Uint8Array): bigint => {
  const half = sha512(seed).subarray(0, 32)
  half[0] = (half[0] ?? 0) & 0xf8
  half[31] = ((half[31] ?? 0) & 0x7f) | 0x40
  return numberOf(half)
}

/** Signs with `R`, an encoding of the point of `r`, or of one that equals it once both are multiplied by the cofactor. */
const signWithR =
  (R: Buffer, r: bigint): Sign =>
  (message, { publicKey, seed }) => {
    const challenge = numberOf(sha512(R, publicKey, message))
    return bytes(R, littleEndian((r + challenge * scalarOf(seed)) % ORDER))
  }

const SECRET_R = 0x1234_5678_9abc_def0n
/** A point of order 8. */
const TORSION = Point.fromBytes(fromHex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"), false)

/** Signatures that solve the equation but violate RFC 8032 §5.1.7. */
export const MALLEABLE = {
  highS: (message, identity) => {
    const signature = signEd25519(message, identity)
    return bytes(signature.subarray(0, 32), littleEndian(numberOf(signature.subarray(32)) + ORDER))
  },
  /** The neutral element. */
  smallR: signWithR(littleEndian(1n), 0n),
  /** The neutral element with a coordinate not below the prime. */
  nonCanonicalR: signWithR(littleEndian(PRIME + 1n), 0n),
  mixedR: signWithR(Buffer.from(Point.BASE.multiply(SECRET_R).add(TORSION).toBytes()), SECRET_R),
} as const satisfies Readonly<Record<string, Sign>>
