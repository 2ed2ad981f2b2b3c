/** Identities that sign statements, honestly or not. */
import { createHash } from "node:crypto"
import { Point } from "@noble/ed25519"
import { type Bytes, concat, encodeBase64Url } from "../../domain/bytes/bytes.ts"
import { type PublicJwk, thumbprintInput } from "../../domain/protocol/statement.ts"
import { publicJwk } from "../../client/verification/trust.ts"
import { plainStorage } from "../../services/sealing/PlainStorage.ts"
import { sha256 } from "../../services/sealing/sha256.ts"

/** Signs the header and payload of a statement. */
export type Sign = (message: Bytes, identity: Identity) => Bytes

export interface Identity {
  readonly kid: string
  readonly publicKey: Bytes
  readonly jwk: PublicJwk
  readonly sign: (message: Bytes) => Bytes
  /** Signs with this `R`, an encoding of the neutral element. */
  readonly signWith: (R: Bytes, message: Bytes) => Bytes
}

const { n: ORDER, p: PRIME } = Point.CURVE()

const numberOf = (littleEndian: Uint8Array): bigint => {
  let value = 0n
  for (const byte of littleEndian.toReversed()) value = (value << 8n) | BigInt(byte)
  return value
}

const littleEndian = (value: bigint): Bytes =>
  Uint8Array.from({ length: 32 }, (_, index) => Number((value >> BigInt(8 * index)) & 0xffn))

const sha512 = (...parts: ReadonlyArray<Uint8Array>): Uint8Array =>
  createHash("sha512")
    .update(concat(...parts))
    .digest()

/** Derives the scalar of a seed (RFC 8032 §5.1.5). */
const scalarOf = (seed: Bytes): bigint => {
  const bytes = sha512(seed).subarray(0, 32)
  bytes[0] = (bytes[0] ?? 0) & 0xf8
  bytes[31] = ((bytes[31] ?? 0) & 0x7f) | 0x40
  return numberOf(bytes)
}

export const identityFrom = (seed: Bytes): Identity => {
  const scalar = scalarOf(seed)
  const key = plainStorage().signingKey(seed.slice())
  const kid = encodeBase64Url(sha256(thumbprintInput(encodeBase64Url(key.publicKey))))
  return {
    kid,
    publicKey: key.publicKey,
    jwk: publicJwk(kid, key.publicKey),
    sign: key.sign,
    signWith: (R, message) => {
      const challenge = numberOf(sha512(R, key.publicKey, message)) % ORDER
      return concat(R, littleEndian((challenge * scalar) % ORDER))
    },
  }
}

/** The neutral element, of small order, in its canonical encoding. */
const NEUTRAL = littleEndian(1n)
/** The neutral element with a coordinate not below the prime. */
const NEUTRAL_BEYOND = littleEndian(PRIME + 1n)

/** Signatures that solve the equation but violate RFC 8032 §5.1.7. */
export const MALLEABLE = {
  highS: (message, { sign }) => {
    const signature = sign(message)
    return concat(signature.subarray(0, 32), littleEndian(numberOf(signature.subarray(32)) + ORDER))
  },
  smallR: (message, { signWith }) => signWith(NEUTRAL, message),
  nonCanonicalR: (message, { signWith }) => signWith(NEUTRAL_BEYOND, message),
} as const satisfies Readonly<Record<string, Sign>>
