/** Signatures at the edges of what is one: WebCrypto must not make the check laxer than noble's strict one. */
import crypto, { createHash } from "node:crypto"
import { Point, verifyAsync } from "@noble/ed25519"
import { afterEach, assert, describe, it, vi } from "@effect/vitest"
import { verifyEd25519 } from "../../../src/client/crypto/ed25519.ts"
import { type Bytes, concat, utf8 } from "../../../src/domain/bytes/bytes.ts"
import { hex } from "../../support/protocol/reference.ts"

const L = Point.CURVE().n
const P = Point.CURVE().p
const MESSAGE = utf8("a message")

const littleEndian = (value: bigint): Bytes => {
  const bytes = new Uint8Array(32)
  for (let i = 0, rest = value; i < 32; i++, rest >>= 8n) bytes[i] = Number(rest & 0xffn)
  return bytes
}
const number = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes.toReversed()).toString("hex")}`)
const point = (value: Point): Bytes => new Uint8Array(value.toBytes())
const withSign = (bytes: Bytes): Bytes => bytes.map((byte, index) => (index === 31 ? byte | 0x80 : byte))
const challenge = (R: Bytes, A: Bytes): bigint =>
  number(createHash("sha512").update(R).update(A).update(MESSAGE).digest()) % L

const SECRET = 0x1234_5678_9abc_def0n
const NONCE = 0xfeed_beefn
const ZERO = new Uint8Array(32)
/** The neutral element, and encodings of it that are not canonical. */
const NEUTRAL = point(Point.ZERO)
const NEUTRALS = [withSign(NEUTRAL), littleEndian(P + 1n), withSign(littleEndian(P + 1n))]
/** Order 8, and order 2. */
const TORSION = Point.fromBytes(
  new Uint8Array(Buffer.from("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a", "hex")),
  false,
)
const ORDER_2 = littleEndian(P - 1n)

/** Solves the equation for S, given the scalars behind R and A. */
const sign = (r: bigint, a: bigint, R = point(Point.BASE.multiply(r)), A = point(Point.BASE.multiply(a))) => ({
  A,
  signature: concat(R, littleEndian((r + challenge(R, A) * a) % L)),
})

/** Runs as outside of Node: with WebCrypto or with neither. */
const withoutNode = () => {
  vi.spyOn(process, "getBuiltinModule").mockReturnValue(undefined)
  vi.resetModules()
  return import("../../../src/client/crypto/ed25519.ts")
}

afterEach(() => {
  vi.restoreAllMocks()
  vi.resetModules()
})

const good = sign(NONCE, SECRET)
const R = good.signature.subarray(0, 32)
const S = number(good.signature.subarray(32))
const mixedKey = point(Point.BASE.multiply(SECRET).add(TORSION))

const cases: ReadonlyArray<readonly [string, Bytes, Bytes, boolean]> = [
  ["a good one", good.A, good.signature, true],
  ["S + L", good.A, concat(R, littleEndian(S + L)), false],
  ["S with its highest bit set", good.A, concat(R, withSign(littleEndian(S))), false],
  ["L itself as S", NEUTRAL, concat(NEUTRAL, littleEndian(L)), false],
  ["another R", good.A, concat(point(Point.BASE), littleEndian(S)), false],
  ["R that is no point", good.A, concat(littleEndian(2n), littleEndian(S)), false],
  ["64 zeros", good.A, concat(ZERO, ZERO), false],
  ["one byte less", good.A, good.signature.subarray(0, 63), false],
  ["one byte more", good.A, concat(good.signature, new Uint8Array(1)), false],
  ["a key that is no point", littleEndian(2n), good.signature, false],
  ["a key of 31 bytes", good.A.subarray(0, 31), good.signature, false],
  ["the neutral element as key and R", NEUTRAL, concat(NEUTRAL, ZERO), false],
  ["a key of order 2", ORDER_2, concat(NEUTRAL, ZERO), false],
  ["a key of order 8", point(TORSION), concat(NEUTRAL, ZERO), false],
  ...NEUTRALS.map((encoding) => ["a key that is not canonical", encoding, concat(NEUTRAL, ZERO), false] as const),
  ...NEUTRALS.map((R) => ["R that is not canonical", good.A, sign(0n, SECRET, R, good.A).signature, false] as const),
]

const mixedR = point(Point.BASE.multiply(NONCE).add(TORSION))

/** Whether noble accepts a signature: it solves the equation, possibly only multiplied by the cofactor. */
const believedByNoble: typeof cases = [
  ["R of small order", good.A, sign(0n, SECRET, NEUTRAL, good.A).signature, false],
  ["R with a part of small order", good.A, sign(NONCE, SECRET, mixedR, good.A).signature, false],
]

const strict = (signature: Bytes, key: Bytes) =>
  verifyAsync(signature, MESSAGE, key, { zip215: false }).catch(() => false)

describe("signatures", () => {
  it.each(cases)("%s", async (_, key, signature, expected) => {
    assert.strictEqual(await verifyEd25519(signature, MESSAGE, key), expected)
    assert.strictEqual(await strict(signature, key), expected)
  })

  it.each(believedByNoble)("%s", async (_, key, signature, expected) => {
    assert.isTrue(await strict(signature, key))
    assert.strictEqual(await verifyEd25519(signature, MESSAGE, key), expected)
  })

  it("verify under a key with a small-order component only if the cofactorless equation holds", async () => {
    const outcomes = new Set<string>()
    for (let r = 1n; r <= 32n; r++) {
      const { signature } = sign(r, SECRET, point(Point.BASE.multiply(r)), mixedKey)
      const [ours, nobles] = [await verifyEd25519(signature, MESSAGE, mixedKey), await strict(signature, mixedKey)]
      assert.isTrue(nobles || !ours, "laxer than the strict check")
      outcomes.add(`${ours}`)
    }
    assert.deepStrictEqual([...outcomes].sort(), ["false", "true"])
  })

  it("verify under many keys in turn", async () => {
    for (let a = 1n; a <= 40n; a++) {
      const { A, signature } = sign(NONCE, a)
      assert.isTrue(await verifyEd25519(signature, MESSAGE, A))
      assert.isTrue(await verifyEd25519(good.signature, MESSAGE, good.A))
      assert.isFalse(await verifyEd25519(signature, MESSAGE, good.A))
    }
  })
})

describe("without Node's own crypto", () => {
  it("verifies the same signatures", async () => {
    const { verifyEd25519 } = await withoutNode()
    for (const [name, key, signature, expected] of [...cases, ...believedByNoble]) {
      assert.strictEqual(await verifyEd25519(signature, MESSAGE, key), expected, name)
    }
  })
})

describe("with a WebCrypto that accepts everything", () => {
  it("still refuses non-canonical encodings and keys of small order", async () => {
    const verify = vi.spyOn(globalThis.crypto.subtle, "verify").mockResolvedValue(true)
    const { verifyEd25519 } = await withoutNode()
    const malformed = cases.filter(([name]) => !["a good one", "another R", "64 zeros"].includes(name))
    for (const [name, key, signature] of malformed) {
      assert.isFalse(await verifyEd25519(signature, MESSAGE, key), name)
    }
    assert.strictEqual(verify.mock.calls.length, 0)
    assert.isTrue(await verifyEd25519(good.signature, MESSAGE, good.A))
  })
})

describe("with a Node crypto that accepts any R", () => {
  const multiples = [Point.ZERO, ...[1n, 2n, 3n, 4n, 5n, 6n, 7n].map((times) => TORSION.multiply(times))]

  it.each(multiples.map((R) => [hex(point(R)), point(R)] as const))("%s is refused", async (_, R) => {
    vi.spyOn(process, "getBuiltinModule").mockReturnValue({ ...crypto, verify: () => true })
    vi.resetModules()
    const { verifyEd25519 } = await import("../../../src/client/crypto/ed25519.ts")
    assert.isFalse(await verifyEd25519(concat(R, littleEndian(S)), MESSAGE, good.A))
    assert.isTrue(await verifyEd25519(good.signature, MESSAGE, good.A))
  })
})

describe("without Ed25519 in WebCrypto", () => {
  it("verifies the same signatures", async () => {
    const importKey = vi.spyOn(globalThis.crypto.subtle, "importKey").mockRejectedValue(new Error("NotSupported"))
    const portable = await withoutNode()
    for (const [name, key, signature, expected] of [...cases, ...believedByNoble]) {
      assert.strictEqual(await portable.verifyEd25519(signature, MESSAGE, key), expected, name)
    }
    assert.isAbove(importKey.mock.calls.length, 0)
  })
})
