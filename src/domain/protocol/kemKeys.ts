/** Validates public keys before a secret is agreed. All values are public, so nothing needs constant time. */
import { type Bytes, equalBytes } from "../bytes/bytes.ts"

const LAST = 31
/** 2^255 − 19 in little-endian bytes: `ed`, thirty times `ff`, `7f`. */
const PRIME_FIRST = 0xed
const PRIME_LAST = 0x7f

/** The `u` coordinates of small order below the prime, little-endian; 0, 1 and −1 are recognised by their bytes. */
const SMALL_ORDER = [
  "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
  "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
].map((hex) => Uint8Array.from(hex.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16)))

/**
 * Whether 32 bytes are a canonical X25519 point not of small order (RFC 7748 §6.1). Canonical means below the prime: §5 would
 * mask other values, so a point would have two encodings.
 */
export const isX25519Key = (key: Bytes): boolean => {
  const middle = key.subarray(1, LAST)
  const [first = 0] = key
  const last = key[LAST] ?? 0
  if (last > PRIME_LAST) return false
  // At or just below the prime; −1, whose order is small, is the last one before it.
  if (last === PRIME_LAST && first >= PRIME_FIRST - 1 && middle.every((byte) => byte === 0xff)) return false
  if (last === 0 && first <= 1 && middle.every((byte) => byte === 0)) return false
  return !SMALL_ORDER.some((point) => equalBytes(key, point))
}

const ML_KEM_MODULUS = 3329
/** The vector of an ML-KEM-768 key: 3 polynomials of 256 coefficients, two in three bytes. The seed of the matrix follows. */
const VECTOR_BYTES = 1152

/** Whether every coefficient of an ML-KEM-768 encapsulation key is below the modulus (FIPS 203 §7.2). */
export const isMlKem768Key = (key: Bytes): boolean => {
  for (let i = 0; i < VECTOR_BYTES; i += 3) {
    const low = key[i] ?? 0
    const shared = key[i + 1] ?? 0
    const high = key[i + 2] ?? 0
    if ((low | ((shared & 15) << 8)) >= ML_KEM_MODULUS || ((shared >> 4) | (high << 4)) >= ML_KEM_MODULUS) return false
  }
  return true
}
