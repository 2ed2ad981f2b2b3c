/** Valid public keys: canonical X25519 points not of small order, and reduced ML-KEM-768 keys. */
import { generateKeyPairSync } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { isMlKem768Key, isX25519Key } from "../../../src/domain/protocol/kemKeys.ts"

const P = 2n ** 255n - 19n

const littleEndian = (value: bigint): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(32)
  for (let i = 0, rest = value; i < 32; i++, rest >>= 8n) bytes[i] = Number(rest & 0xffn)
  return bytes
}

/** Points of small order (RFC 7748 §6.1); the list is Curve25519's own (cr.yp.to/ecdh.html#validate). */
const WEAK = [
  0n,
  1n,
  325_606_250_916_557_431_795_983_626_356_110_631_294_008_115_727_848_805_560_023_387_167_927_233_504n,
  39_382_357_235_489_614_581_723_060_781_553_021_112_529_911_719_440_698_176_882_885_853_963_445_705_823n,
  P - 1n,
]

describe("isX25519Key", () => {
  it.each(WEAK)("rejects the point of small order %d", (u) => assert.isFalse(isX25519Key(littleEndian(u))))

  it("accepts only values below the prime, without the top bit", () => {
    const coordinate = fc.bigInt({ min: 2n, max: P - 2n }).filter((u) => !WEAK.includes(u))
    fc.assert(
      fc.property(fc.oneof(coordinate, fc.constantFrom(2n, 9n, P - 2n)), (u) => {
        assert.isTrue(isX25519Key(littleEndian(u)))
        assert.isFalse(isX25519Key(littleEndian(u + 2n ** 255n)))
      }),
    )
    for (let u = P; u < 2n ** 255n; u++) assert.isFalse(isX25519Key(littleEndian(u)), String(u - P))
  })
})

describe("isMlKem768Key", () => {
  const sound = () =>
    new Uint8Array(generateKeyPairSync("ml-kem-768").publicKey.export({ format: "der", type: "spki" }).subarray(-1184))

  /** Writes a 12-bit coefficient (FIPS 203 §4.2.1, ByteEncode). */
  const withCoefficient = (key: Uint8Array<ArrayBuffer>, index: number, value: number) => {
    const changed = key.slice()
    for (let bit = 0; bit < 12; bit++) {
      const at = index * 12 + bit
      const mask = 1 << (at % 8)
      const byte = changed[at >> 3] ?? 0
      changed[at >> 3] = ((value >> bit) & 1) === 1 ? byte | mask : byte & ~mask
    }
    return changed
  }

  it("rejects any coefficient of 3329 or more (FIPS 203 §7.2)", () => {
    const key = sound()
    assert.isTrue(isMlKem768Key(key))
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 767 }), fc.integer({ min: 0, max: 4095 }), (index, value) => {
        assert.strictEqual(isMlKem768Key(withCoefficient(key, index, value)), value < 3329)
      }),
    )
    for (const index of [0, 1, 255, 256, 767]) {
      assert.isTrue(isMlKem768Key(withCoefficient(key, index, 3328)))
      assert.isFalse(isMlKem768Key(withCoefficient(key, index, 3329)))
    }
  })

  it("accepts any seed after the coefficients", () => {
    assert.isTrue(isMlKem768Key(sound().fill(0xff, 1152)))
  })
})
