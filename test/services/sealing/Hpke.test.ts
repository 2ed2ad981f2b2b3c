import { generateKeyPairSync } from "node:crypto"
import { assert, describe, it, vi } from "@effect/vitest"
import { Aes256Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from "@hpke/core"
import { XWing } from "@hpke/hybridkem-x-wing"
import { Effect, Schema } from "effect"
import { concat, encodeBase64Url } from "../../../src/domain/bytes/bytes.ts"
import { type Suite, SUITES, X25519, X_WING } from "../../../src/domain/protocol/suites.ts"
import { hpkeSeal } from "../../../src/client/crypto/hpke.ts"
import { guardedStorage } from "../../../src/services/sealing/GuardedStorage.ts"
import { hpkeOpen, type OpenInput } from "../../../src/services/sealing/Hpke.ts"
import { LabeledKdf } from "../../../src/services/sealing/LabeledKdf.ts"
import { recipientKey } from "../../../src/services/sealing/recipientKeys.ts"
import { plainStorage } from "../../../src/services/sealing/PlainStorage.ts"
import * as reference from "../../support/protocol/reference.ts"
import { unhex } from "../../support/protocol/published.ts"

const ownBytes = (bytes: Uint8Array) => new Uint8Array(bytes)
const INFO = ownBytes(reference.text("info"))
const AAD = ownBytes(reference.text("aad"))
const RESPONSE = ownBytes(reference.label("response"))
const PLAINTEXT = ownBytes(reference.text("Sealed to a key of the vault."))

const freshSecret = () =>
  ownBytes(generateKeyPairSync("x25519").privateKey.export({ format: "der", type: "pkcs8" }).subarray(-32))

/** Points of small order on Curve25519 and its twist, and encodings of them beyond the field (RFC 7748 §6.1). */
const LOW_ORDER = [
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
  "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "0000000000000000000000000000000000000000000000000000000000000080",
]

/** Second encodings of points: the prime and more, and a bit that X25519 masks. */
const NOT_CANONICAL = [
  "f0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "0900000000000000000000000000000000000000000000000000000000000080",
]

/** RFC 9180's published vector for mode base, DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM. */
const RFC = {
  info: unhex("4f6465206f6e2061204772656369616e2055726e"),
  ikmE: unhex("2cd7c601cefb3d42a62b04b7a9041494c06c7843818e0ce28a8f704ae7ab20f9"),
  skRm: unhex("497b4502664cfea5d5af0b39934dac72242a74f8480451e1aee7d6a53320333d"),
  pkRm: unhex("430f4b9859665145a6b1ba274024487bd66f03a2dd577d7753c68d7d7d00c00c"),
  enc: unhex("6c93e09869df3402d7bf231bf540fadd35cd56be14f97178f0954db94b7fc256"),
  aad: unhex("436f756e742d30"),
  plaintext: unhex("4265617574792069732074727574682c20747275746820626561757479"),
  ciphertext: unhex("e5d84cd531cfb583096e7cfa9641bd3079cf3a91cda813c52deb5f512be9931980a41de125a925cdad859d5b7a"),
  exports: [
    { context: unhex(""), value: unhex("ded6cffafaea6b812cbf3e241e88332adbc077aca81512914213810ee291770a") },
    {
      context: unhex("54657374436f6e74657874"),
      value: unhex("7c5ded445732c14fe09727d29b4251c0fd38455fe8440571e687f0886aac94d2"),
    },
  ],
} as const

const rejection = (input: OpenInput): unknown => {
  try {
    hpkeOpen(input)
  } catch (error) {
    return error
  }
  return assert.fail("it opened")
}

const storages = [
  { name: "plain", storage: plainStorage() },
  { name: "guarded", storage: guardedStorage() },
].flatMap(({ name, storage }) => (storage === undefined ? [] : [{ name, storage }]))

const keys = storages.flatMap(({ name, storage }) => SUITES.map((suite) => ({ name, storage, suite })))

describe.each(keys)("HPKE with keys of $suite.name in $name storage", ({ storage, suite }) => {
  const sealed = async (key = recipientKey(suite, storage)): Promise<OpenInput> => {
    const { ciphertext, enc } = await hpkeSeal(suite, key.publicKey, INFO, AAD, PLAINTEXT)
    return { key, enc, info: INFO, aad: AAD, ciphertext, exportContext: RESPONSE }
  }

  it("opens messages of other implementations and of the client, with the same exported secret", async () => {
    const key = recipientKey(suite, storage)
    const context = { suite: suite.name, info: INFO, aad: AAD }
    for (const message of [
      await reference.hpkeSeal(key.publicKey, context, PLAINTEXT),
      await hpkeSeal(suite, key.publicKey, INFO, AAD, PLAINTEXT),
      await portably(suite, key.publicKey),
    ]) {
      const { ciphertext, enc, secret } = message
      const input = { ...(await sealed(key)), enc: ownBytes(enc), ciphertext: ownBytes(ciphertext) }
      assert.deepStrictEqual(hpkeOpen(input), { plaintext: PLAINTEXT, secret: ownBytes(secret) })
    }
  })

  it("opens no message with a shortened part, and none with another key", async () => {
    const input = await sealed()
    const wrong: ReadonlyArray<Partial<OpenInput>> = [
      { info: new Uint8Array() },
      { aad: new Uint8Array() },
      { enc: input.enc.slice(1) },
      { enc: new Uint8Array() },
      { ciphertext: input.ciphertext.slice(1) },
      { ciphertext: input.ciphertext.slice(0, -1) },
      { key: recipientKey(suite, storage) },
    ]
    for (const change of wrong) assert.instanceOf(rejection({ ...input, ...change }), Error)
    assert.deepStrictEqual(hpkeOpen(input).plaintext, PLAINTEXT)
  })

  it.each([...LOW_ORDER, ...NOT_CANONICAL])("opens nothing from the point %s", async (point) => {
    const input = await sealed()
    const enc = ownBytes(input.enc)
    enc.set(unhex(point), enc.length - 32)
    assert.instanceOf(rejection({ ...input, enc }), Error)
  })

  it("opens nothing with a destroyed key", async () => {
    const input = await sealed()
    input.key.destroy()
    input.key.destroy()
    assert.match(String(rejection(input)), /destroyed/)
  })
})

/**
 * Of draft-connolly-cfrg-xwing-kem-08, appendix C: seed, eseed, shared secret, and the SHA-256 of public key and ciphertext,
 * which have some thousand bytes.
 */
const X_WING_VECTORS = [
  {
    seed: "7f9c2ba4e88f827d616045507605853ed73b8093f6efbc88eb1a6eacfa66ef26",
    eseed:
      "3cb1eea988004b93103cfb0aeefd2a686e01fa4a58e8a3639ca8a1e3f9ae57e2" +
      "35b8cc873c23dc62b8d260169afa2f75ab916a58d974918835d25e6a435085b2",
    ss: "d2df0522128f09dd8e2c92b1e905c793d8f57a54c3da25861f10bf4ca613e384",
    pk: "2e816deebcd76c5c80d0cd2d174478871658e8e2ff42bc9d4a6e486372e856bb",
    ct: "17cd532d657e44c897ca6583e548a5424fc70bf54f99515a4d2bcf99e3469f33",
  },
  {
    seed: "badfd6dfaac359a5efbb7bcc4b59d538df9a04302e10c8bc1cbf1a0b3a5120ea",
    eseed:
      "17cda7cfad765f5623474d368ccca8af0007cd9f5e4c849f167a580b14aabdef" +
      "aee7eef47cb0fca9767be1fda69419dfb927e9df07348b196691abaeb580b32d",
    ss: "f2e86241c64d60f6649fbc6c5b7d17180b780a3f34355e64a85749949c45f150",
    pk: "c42ba5f8430d7d2c83739338203819f090e8303ce9c8b02107c272bfa5376916",
    ct: "1661ea86d608a1924ba30840cb0a65f13ae051e3aec9cf0f064efc0bc92f2154",
  },
] as const

describe.each(storages)("the published vectors with keys in $name storage", ({ storage }) => {
  it("are those of RFC 9180", () => {
    for (const { context, value } of RFC.exports) {
      const key = recipientKey(X25519, storage, RFC.skRm.slice())
      assert.deepStrictEqual(key.publicKey, RFC.pkRm)
      const opened = hpkeOpen({ ...RFC, key, exportContext: context })
      assert.deepStrictEqual(opened, { plaintext: RFC.plaintext, secret: value })
    }
  })

  it.each(X_WING_VECTORS)("are those of X-Wing for the seed $seed", async ({ ct, eseed, pk, seed, ss }) => {
    const portable = new XWing()
    const key = recipientKey(X_WING, storage, unhex(seed))
    assert.strictEqual(reference.sha256(key.publicKey).toString("hex"), pk)
    const recipientPublicKey = await portable.deserializePublicKey(key.publicKey)
    const { enc, sharedSecret } = await portable.encap({ recipientPublicKey, ekm: unhex(eseed) })
    assert.strictEqual(reference.sha256(new Uint8Array(enc)).toString("hex"), ct)
    assert.deepStrictEqual(new Uint8Array(sharedSecret), unhex(ss))
    assert.deepStrictEqual(key.decapsulate(new Uint8Array(enc), new LabeledKdf(new Uint8Array())), unhex(ss))
  })
})

it.each(storages)("X-Wing with keys in $name storage needs both halves of its key", async ({ storage }) => {
  const secret = freshSecret()
  const hold = (length: number) => storage.hold(length, concat(freshSecret(), freshSecret(), secret))
  const both = { ...storage, hold }
  const { ciphertext, enc } = await hpkeSeal(X_WING, recipientKey(X_WING, both).publicKey, INFO, AAD, PLAINTEXT)
  // A thief of the X25519 half, who has to make up the other.
  const key = recipientKey(X_WING, both)
  assert.instanceOf(rejection({ key, enc, info: INFO, aad: AAD, ciphertext, exportContext: RESPONSE }), Error)
})

/** The key schedule of another implementation, in both suites. */
const CORE = keys.map(({ storage, suite }) => ({
  key: recipientKey(suite, storage),
  core: new CipherSuite({
    kem: suite === X_WING ? new XWing() : new DhkemX25519HkdfSha256(),
    kdf: new HkdfSha256(),
    aead: new Aes256Gcm(),
  }),
}))

describe("the key schedule", () => {
  const Inputs = Schema.Struct({
    info: Schema.Uint8Array,
    aad: Schema.Uint8Array,
    exportContext: Schema.Uint8Array,
    plaintext: Schema.Uint8Array,
    changed: Schema.Literals(["info", "aad", "enc", "ciphertext"]),
    bit: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000 })),
  })

  it.effect.prop("equals @hpke/core's, and opens nothing if one bit differs", [Inputs], ([inputs]) =>
    Effect.promise(async () => {
      const { bit, changed } = inputs
      const [info, aad, exportContext, plaintext] = [
        inputs.info,
        inputs.aad,
        inputs.exportContext,
        inputs.plaintext,
      ].map(ownBytes)
      assert(info !== undefined && aad !== undefined && exportContext !== undefined && plaintext !== undefined)
      for (const { core, key } of CORE) {
        const recipientPublicKey = await core.kem.deserializePublicKey(key.publicKey)
        const sender = await core.createSenderContext({ recipientPublicKey, info })
        const input: OpenInput = {
          key,
          enc: new Uint8Array(sender.enc),
          info,
          aad,
          ciphertext: new Uint8Array(await sender.seal(plaintext, aad)),
          exportContext,
        }
        const secret = new Uint8Array(await sender.export(exportContext, 32))
        assert.deepStrictEqual(hpkeOpen(input), { plaintext, secret })
        const spoilt = ownBytes(input[changed].length === 0 ? Uint8Array.of(0) : input[changed])
        const index = (bit >> 3) % spoilt.length
        spoilt[index] = (spoilt[index] ?? 0) ^ (1 << (bit & 7))
        assert.instanceOf(rejection({ ...input, [changed]: spoilt }), Error)
      }
    }),
  )
})

/** As the client seals where the platform has no ML-KEM. */
const portably = async (suite: Suite, publicKey: Uint8Array<ArrayBuffer>) => {
  const builtin = vi.spyOn(process, "getBuiltinModule").mockReturnValue(undefined)
  vi.resetModules()
  try {
    const { hpkeSeal } = await import("../../../src/client/crypto/hpke.ts")
    return await hpkeSeal(suite, publicKey, INFO, AAD, PLAINTEXT)
  } finally {
    builtin.mockRestore()
  }
}

describe("HPKE of the client", () => {
  it("accepts inputs at any offset of a buffer", async () => {
    const inside = (bytes: Uint8Array) => {
      const larger = new Uint8Array(bytes.length + 7)
      larger.set(bytes, 3)
      return larger.subarray(3, 3 + bytes.length)
    }
    const sealed = await hpkeSeal(
      X25519,
      inside(RFC.pkRm),
      inside(RFC.info),
      inside(RFC.aad),
      inside(RFC.plaintext),
      inside(RFC.ikmE),
    )
    assert.deepStrictEqual(sealed.ciphertext, RFC.ciphertext)
  })

  it("never uses an ephemeral key twice", async () => {
    const publicKey = ownBytes(reference.publicKeyOf("X25519", freshSecret()))
    const encs = await Promise.all(
      Array.from({ length: 20 }, async () =>
        encodeBase64Url((await hpkeSeal(X25519, publicKey, INFO, AAD, PLAINTEXT)).enc),
      ),
    )
    assert.strictEqual(new Set(encs).size, encs.length)
  })

  it.each(LOW_ORDER)("seals nothing to the low-order public key %s", async (point) => {
    const outcome = await hpkeSeal(X25519, unhex(point), INFO, AAD, PLAINTEXT).then(
      () => "sealed",
      () => "refused",
    )
    assert.strictEqual(outcome, "refused")
  })
})
