import { generateKeyPairSync } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { encodeBase64Url } from "../../../src/domain/bytes.ts"
import { hpkeSeal } from "../../../src/client/primitives.ts"
import { guardedStorage } from "../../../src/services/sealing/GuardedStorage.ts"
import { hpkeOpen, type OpenInput } from "../../../src/services/sealing/Hpke.ts"
import type { KeyStorage } from "../../../src/services/sealing/KeyStorage.ts"
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

const rejection = (input: OpenInput) =>
  hpkeOpen(input).then(
    () => assert.fail("it opened"),
    (error: unknown) => error,
  )

const storages: ReadonlyArray<readonly [string, KeyStorage | undefined]> = [
  ["plain", plainStorage()],
  ["guarded", await guardedStorage()],
]

describe.each(storages.flatMap(([name, storage]) => (storage === undefined ? [] : [{ name, storage }])))(
  "HPKE with keys in $name storage",
  ({ storage }) => {
    const sealed = async () => {
      const secret = freshSecret()
      const message = await reference.hpkeSeal(
        reference.publicKeyOf("X25519", secret),
        { info: INFO, aad: AAD },
        PLAINTEXT,
      )
      const input: OpenInput = {
        key: storage.agreementKey(secret),
        enc: ownBytes(message.enc),
        info: INFO,
        aad: AAD,
        ciphertext: ownBytes(message.ciphertext),
        exportContext: RESPONSE,
      }
      return { input, message }
    }

    it("opens what another implementation sealed, with the same export", async () => {
      for (let i = 0; i < 20; i++) {
        const { input, message } = await sealed()
        const opened = await hpkeOpen(input)
        assert.deepStrictEqual(opened.plaintext, PLAINTEXT)
        assert.deepStrictEqual(Buffer.from(opened.secret), message.secret)
      }
    })

    it("opens what the client sealed, with the same export", async () => {
      const key = storage.agreementKey()
      const { ciphertext, enc, secret } = await hpkeSeal(key.publicKey, INFO, AAD, PLAINTEXT)
      const opened = await hpkeOpen({ key, enc, info: INFO, aad: AAD, ciphertext, exportContext: RESPONSE })
      assert.deepStrictEqual(opened, { plaintext: PLAINTEXT, secret })
    })

    it("opens the vector of RFC 9180", async () => {
      for (const { context, value } of RFC.exports) {
        const key = storage.agreementKey(RFC.skRm.slice())
        assert.deepStrictEqual(key.publicKey, RFC.pkRm)
        const opened = await hpkeOpen({ ...RFC, key, exportContext: context })
        assert.deepStrictEqual(opened, { plaintext: RFC.plaintext, secret: value })
      }
    })

    it("opens an empty message", async () => {
      const key = storage.agreementKey()
      const { ciphertext, enc } = await hpkeSeal(key.publicKey, INFO, AAD, new Uint8Array())
      const opened = await hpkeOpen({ key, enc, info: INFO, aad: AAD, ciphertext, exportContext: RESPONSE })
      assert.deepStrictEqual(opened.plaintext, new Uint8Array())
    })

    it("rejects another info, aad, enc, ciphertext or key", async () => {
      const { input } = await sealed()
      const changed = (bytes: Uint8Array, index: number) =>
        ownBytes(bytes.map((byte, i) => (i === (index + bytes.length) % bytes.length ? byte ^ 1 : byte)))
      const wrong: ReadonlyArray<Partial<OpenInput>> = [
        { info: changed(INFO, 0) },
        { info: new Uint8Array() },
        { aad: changed(AAD, 0) },
        { aad: new Uint8Array() },
        ...[0, 15, -1].map((index) => ({ enc: changed(input.enc, index) })),
        { enc: ownBytes(input.enc.map((byte, i) => (i === 31 ? byte ^ 0x80 : byte))) },
        { enc: input.enc.slice(1) },
        { enc: new Uint8Array() },
        ...[0, 20, -1].map((index) => ({ ciphertext: changed(input.ciphertext, index) })),
        { ciphertext: input.ciphertext.slice(1) },
        { ciphertext: input.ciphertext.slice(0, -1) },
        { key: storage.agreementKey() },
      ]
      for (const change of wrong) assert.instanceOf(await rejection({ ...input, ...change }), Error)
      assert.deepStrictEqual((await hpkeOpen(input)).plaintext, PLAINTEXT)
    })

    it.each(LOW_ORDER)("rejects the low-order public key %s", async (point) => {
      const { input } = await sealed()
      assert.instanceOf(await rejection({ ...input, enc: unhex(point) }), Error)
      assert.throws(() => input.key.agree(unhex(point)))
    })

    it("opens nothing with a destroyed key", async () => {
      const { input } = await sealed()
      input.key.destroy()
      input.key.destroy()
      assert.match(String(await rejection(input)), /destroyed/)
    })
  },
)

describe("HPKE of the client", () => {
  it("is opened by another implementation, with the same export", async () => {
    for (let i = 0; i < 20; i++) {
      const privateKey = freshSecret()
      const publicKey = ownBytes(reference.publicKeyOf("X25519", privateKey))
      const { ciphertext, enc, secret } = await hpkeSeal(publicKey, INFO, AAD, PLAINTEXT)
      const opened = await reference.hpkeOpen(privateKey, { info: INFO, aad: AAD }, enc, ciphertext)
      assert.deepStrictEqual(opened.plaintext, Buffer.from(PLAINTEXT))
      assert.deepStrictEqual(opened.secret, Buffer.from(secret))
    }
  })

  it("gives the vector of RFC 9180", async () => {
    const sealed = await hpkeSeal(RFC.pkRm, RFC.info, RFC.aad, RFC.plaintext, RFC.ikmE)
    assert.deepStrictEqual(sealed.enc, RFC.enc)
    assert.deepStrictEqual(sealed.ciphertext, RFC.ciphertext)
  })

  it("does not care where in a buffer its inputs lie", async () => {
    const inside = (bytes: Uint8Array) => {
      const larger = new Uint8Array(bytes.length + 7)
      larger.set(bytes, 3)
      return larger.subarray(3, 3 + bytes.length)
    }
    const sealed = await hpkeSeal(
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
      Array.from({ length: 20 }, async () => encodeBase64Url((await hpkeSeal(publicKey, INFO, AAD, PLAINTEXT)).enc)),
    )
    assert.strictEqual(new Set(encs).size, encs.length)
  })

  it.each(LOW_ORDER)("seals nothing to the low-order public key %s", async (point) => {
    const outcome = await hpkeSeal(unhex(point), INFO, AAD, PLAINTEXT).then(
      () => "sealed",
      () => "refused",
    )
    assert.strictEqual(outcome, "refused")
  })
})

describe("the reference", () => {
  it("gives the vector of RFC 9180", async () => {
    const { info, aad, pkRm, plaintext, ikmE } = RFC
    for (const { context, value } of RFC.exports) {
      const sealed = await reference.hpkeSeal(pkRm, { info, aad, exportContext: context }, plaintext, ikmE)
      assert.deepStrictEqual(unhex(sealed.enc.toString("hex")), RFC.enc)
      assert.deepStrictEqual(unhex(sealed.ciphertext.toString("hex")), RFC.ciphertext)
      assert.deepStrictEqual(unhex(sealed.secret.toString("hex")), value)
    }
  })
})
