/** Every byte of a sealed request is bound: whatever is changed on the way, the proxy does not serve it. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { decodeBase64Url, encodeBase64Url, utf8 } from "../../src/domain/bytes/bytes.ts"
import { FLOOR, pad } from "../../src/domain/protocol/padding.ts"
import { joinContent } from "../../src/domain/protocol/sealedContent.ts"
import { SUITES } from "../../src/domain/protocol/suites.ts"
import { requestAad, requestInfo } from "../../src/domain/protocol/transcript.ts"
import type { SealedRequestBody } from "../../src/client/sealed/sealRequest.ts"
import { aesSeal, dhkem, KEM, publicKeyOf, schedule, x25519 } from "../support/protocol/reference.ts"
import { startProxy } from "../support/proxy.ts"
import {
  beginSession,
  jsonOf,
  payloadOf,
  post,
  seal,
  withByteChanged,
  withCharacterChanged,
} from "../support/sealing.ts"

const MEMBERS = ["session_id", "enc", "ciphertext"] as const

/** What a change of each member may be refused as. */
const EXPECTED = {
  // The name of no session, or text that is not canonical base64url.
  session_id: ["410 session-gone", "400 malformed"],
  enc: ["400 unopenable", "400 malformed"],
  ciphertext: ["400 unopenable"],
}

/** Bits that are changed in each byte. The highest of `enc`'s last byte is one that X25519 itself ignores. */
const MASKS = { session_id: [0x01, 0x80], enc: [0x01, 0x80], ciphertext: [0x10] }

/**
 * What is changed: the names throughout, and of the ciphertext its ends and every eighth place. The last character has
 * bits that are in no byte.
 */
const isChanged = (member: (typeof MEMBERS)[number], length: number, index: number) =>
  member !== "ciphertext" || index < 32 || index >= length - 32 || index % 8 === 0

it.effect("a change of a byte or of a base64url character is refused, wherever it is, and uses nothing up", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy({ settings: { sessionMaxRequests: 1 } })
    const session = yield* Effect.promise(() => beginSession(proxy, ["X25519"]))
    const { body } = yield* Effect.promise(() => seal(session, { prompt: "Pay Bob 10" }))

    const changes = MEMBERS.flatMap((member) => {
      const text = body[member]
      const bytes = decodeBase64Url(text)?.length ?? 0
      const places = (length: number) =>
        Array.from({ length }, (_, index) => index).filter((index) => isChanged(member, length, index))
      const changed = [
        ...places(bytes).flatMap((index) => MASKS[member].map((mask) => withByteChanged(text, index, mask))),
        ...places(text.length).map((index) => withCharacterChanged(text, index)),
      ]
      return changed.map((value): readonly [member: typeof member, body: SealedRequestBody] => [
        member,
        { ...body, [member]: value },
      ])
    })
    // 32 bytes of enc, 16 of session_id, and 1040 of ciphertext in 1387 characters.
    assert.strictEqual(changes.length, 2 * (32 + 16) + 43 + 22 + (64 + 122) + (64 + 166))

    yield* Effect.forEach(
      changes,
      ([member, changed]) =>
        Effect.promise(async () => {
          const response = await post(proxy, "/v1/completions", changed)
          const { code } = await jsonOf(response)
          assert.include(EXPECTED[member], `${response.status} ${String(code)}`, member)
        }),
      { concurrency: 16, discard: true },
    )
    const genuine = yield* Effect.promise(() => post(proxy, "/v1/completions", body))
    assert.strictEqual(genuine.status, 200)
  }),
)

it.effect("a request cut short or made longer at any place is refused", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy({ settings: { sessionMaxRequests: 1 } })
    const session = yield* Effect.promise(() => beginSession(proxy))
    const { body } = yield* Effect.promise(() => seal(session, { prompt: "Pay Bob 10" }))
    const places = Array.from({ length: 64 }, (_, step) => Math.floor((body.ciphertext.length * step) / 64))
    const ciphertexts = [
      ...places.map((place) => body.ciphertext.slice(0, place)),
      ...places.slice(1).map((place) => body.ciphertext.slice(place)),
      `${body.ciphertext.slice(0, -1)}AAAA`,
      `AAAA${body.ciphertext}`,
      body.ciphertext + body.ciphertext,
    ]
    yield* Effect.forEach(
      ciphertexts,
      (ciphertext) =>
        Effect.promise(async () => {
          const response = await post(proxy, "/v1/completions", { ...body, ciphertext })
          assert.strictEqual((await jsonOf(response))["code"], "unopenable")
        }),
      { concurrency: 16, discard: true },
    )
    assert.strictEqual((yield* Effect.promise(() => post(proxy, "/v1/completions", body))).status, 200)
  }),
)

it.effect("a mix of two requests, or of two sessions, is refused", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    yield* Effect.promise(async () => {
      const [one, two] = [await beginSession(proxy), await beginSession(proxy)]
      const first = (await seal(one, { prompt: "first" })).body
      const second = (await seal(one, { prompt: "second" })).body
      const elsewhere = (await seal(two, { prompt: "elsewhere" })).body
      const mixed = [
        { ...first, ciphertext: second.ciphertext },
        { ...first, enc: second.enc },
        { ...first, session_id: elsewhere.session_id },
        { ...elsewhere, session_id: first.session_id },
      ]
      for (const body of mixed) {
        const response = await post(proxy, "/v1/completions", body)
        assert.strictEqual((await jsonOf(response))["code"], "unopenable")
      }
      for (const body of [first, second, elsewhere]) {
        assert.strictEqual((await post(proxy, "/v1/completions", body)).status, 200)
      }
    })
  }),
)

/** Encodings with which an agreement is none, or that are a second one of another point (RFC 7748 §5, §6.1). */
const UNSOUND = [
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
  "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "f6ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "0900000000000000000000000000000000000000000000000000000000000080",
]

it.effect("weak and malformed enc values are refused", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    yield* Effect.promise(async () => {
      for (const { name } of SUITES) {
        const { body } = await seal(await beginSession(proxy, [name]), { prompt: "hello" })
        const enc = Buffer.from(body.enc, "base64url")
        for (const point of UNSOUND) {
          // The point is all of it, or its last part.
          enc.write(point, enc.length - 32, "hex")
          const response = await post(proxy, "/v1/completions", { ...body, enc: enc.toString("base64url") })
          assert.strictEqual((await jsonOf(response))["code"], "unopenable", `${name} ${point}`)
        }
        for (const wrong of ["", "AAAA", body.enc.replace(/.$/, "*"), 7, null]) {
          const response = await post(proxy, "/v1/completions", { ...body, enc: wrong })
          assert.strictEqual((await jsonOf(response))["code"], "malformed")
        }
        // Of a length that no suite has, or not this one.
        for (const length of [31, 33, 1119, 1121]) {
          const wrong = { ...body, enc: encodeBase64Url(new Uint8Array(length).fill(9)) }
          const refused = await post(proxy, "/v1/completions", wrong)
          assert.include(["malformed", "unopenable"], (await jsonOf(refused))["code"])
        }
        assert.strictEqual((await post(proxy, "/v1/completions", body)).status, 200)
      }
    })
  }),
)

it.effect("a second encoding of an enc is refused, even if its keys fit", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    yield* Effect.promise(async () => {
      const session = await beginSession(proxy, ["X25519"])
      const ephemeral = Buffer.alloc(32, 7)
      const enc = publicKeyOf("X25519", ephemeral)
      const block = pad(joinContent("", utf8(payloadOf(session, { prompt: "hello" }))), FLOOR)
      const sealedUnder = (enc: Uint8Array) => {
        const secret = dhkem(x25519(ephemeral, session.publicKey), enc, session.publicKey).sharedSecret
        const { key, nonce } = schedule(KEM.X25519, secret, requestInfo(session.attestationHash))
        const ciphertext = aesSeal(key, nonce, requestAad(session.idBytes), block)
        return { session_id: session.id, enc: encodeBase64Url(enc), ciphertext: encodeBase64Url(ciphertext) }
      }
      const spelt = Buffer.from(enc)
      // X25519 masks the top bit, so that both are one point; HPKE hashes the spelling, which its sender can do, too.
      spelt[31] = (spelt[31] ?? 0) | 0x80
      const refused = await post(proxy, "/v1/completions", sealedUnder(spelt))
      assert.strictEqual((await jsonOf(refused))["code"], "unopenable")
      assert.strictEqual((await post(proxy, "/v1/completions", sealedUnder(enc))).status, 200)
    })
  }),
)
