/** Every byte of a sealed request is bound: the proxy serves no request that was changed on the path. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { decodeBase64Url } from "../../src/domain/bytes/bytes.ts"
import type { SealedRequestBody } from "../../src/client/sealed/sealRequest.ts"
import { startProxy } from "../support/proxy.ts"
import { beginSession, jsonOf, post, seal, withByteChanged, withCharacterChanged } from "../support/sealing.ts"

const MEMBERS = ["session_id", "enc", "ciphertext"] as const

/** Possible refusals after a change of each member. */
const EXPECTED = {
  // The name of no session, or text that is not canonical base64url.
  session_id: ["410 session-gone", "400 malformed"],
  enc: ["400 unopenable", "400 malformed"],
  ciphertext: ["400 unopenable"],
}

/** Bits that are changed in each byte. The highest of `enc`'s last byte is one that X25519 itself ignores. */
const MASKS = { session_id: [0x01, 0x80], enc: [0x01, 0x80], ciphertext: [0x10] }

/**
 * Changed bytes: all of the names; of the ciphertext, both ends and every eighth byte. The last character has unused
 * bits.
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
