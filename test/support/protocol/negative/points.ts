/** Numbers and points at the edges of what a key or a signature may be. */
import { fromHex, hex } from "../reference.ts"

export const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n
export const PRIME = 2n ** 255n - 19n

export const littleEndian = (value: bigint): Buffer =>
  Buffer.from(fromHex(value.toString(16).padStart(64, "0")).toReversed())
export const fromLittleEndian = (value: Uint8Array): bigint => BigInt(`0x${hex(value.toReversed())}`)

export const SMALL_ORDER = [
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
  "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
]
export const NOT_CANONICAL = [
  // Nine, plus the prime, and with the top bit set.
  hex(littleEndian(PRIME + 9n)),
  "0900000000000000000000000000000000000000000000000000000000000080",
]
