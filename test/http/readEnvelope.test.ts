/** The fast path for envelopes accepts only what the schema accepts, with the same result. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { CompletionRequest } from "../../src/api/proxy/SealedApi.ts"
import { decodeBase64Url, encodeBase64Url, utf8 } from "../../src/domain/bytes/bytes.ts"
import { jsonFault } from "../../src/domain/json/iJson.ts"
import { schemaIssues } from "../../src/domain/json/schemaIssues.ts"
import { readEnvelope } from "../../src/http/proxy/readEnvelope.ts"

const text = (bytes: number) => encodeBase64Url(new Uint8Array(bytes).fill(7))

/** The result of the schema for a text. */
const expected = (body: string) => {
  if (jsonFault(body) !== undefined) return undefined
  try {
    return Schema.decodeUnknownSync(Schema.fromJsonString(CompletionRequest))(body)
  } catch {
    return undefined
  }
}

const decode = Schema.decodeUnknownResult(Schema.fromJsonString(CompletionRequest), { errors: "all" })

/** The issues that the schema finds in a text. */
const faultsOf = (body: string) => {
  const decoded = decode(body)
  return Result.isFailure(decoded) ? schemaIssues(decoded.failure.issue, ["payload"]) : []
}

const asText = (member: string | Uint8Array) => (typeof member === "string" ? member : encodeBase64Url(member))

const resultOf = (body: string) => Effect.runSync(Effect.result(readEnvelope(utf8(body).buffer)))

const read = (body: string) => {
  const envelope = resultOf(body)
  if (Result.isFailure(envelope)) return undefined
  const { ciphertext, enc, session_id } = envelope.success
  return { session_id, enc: asText(enc), ciphertext: asText(ciphertext) }
}

/** Possible values of an envelope's member, as JSON. */
const Value = Schema.Literals([
  `"${text(16)}"`,
  `"${text(32)}"`,
  `"${text(1120)}"`,
  `"${text(1000)}"`,
  `""`,
  `"AB"`,
  `"AAA="`,
  `"AAA "`,
  `"AA A"`,
  `"A-_\\u0041"`,
  `"\\""`,
  `"é"`,
  `"A\nA"`,
  "7",
  "null",
  `{"enc":"${text(32)}"}`,
  `["a"]`,
])
const Name = Schema.Literals(["session_id", "enc", "ciphertext", "more", "en\\u0063"])
const Space = Schema.Literals(["", " ", "\n\t", "\r"])
const Member = Schema.Struct({ name: Name, value: Value, before: Space, after: Space })
const Body = Schema.Struct({
  members: Schema.Array(Member),
  before: Schema.Literals(["", " ", "\uFEFF"]),
  after: Schema.Literals(["", "\n", "x", "{}", ","]),
})

/** Members with long names. */
const names = (count: number, length: number, filling = "x") =>
  Array.from({ length: count }, (_, i) => `"${filling.repeat(length)}${i}":0`).join(",")

const GOOD = { session_id: text(16), enc: text(32), ciphertext: text(1040) }

describe("an envelope", () => {
  it.effect.prop("is read as the schema reads it, with any content", [Body], ([{ after, before, members }]) =>
    Effect.sync(() => {
      const inner = members.map(
        ({ after, before, name, value }) => `${before}"${name}"${after}:${before}${value}${after}`,
      )
      const body = `${before}{${inner.join(",")}}${after}`
      assert.deepStrictEqual(read(body), expected(body))
    }),
  )

  it.live.each([
    ["thousands of long names", names(32_000, 300), true],
    ["thousands of long names with escapes", names(32_000, 50, "\\u0041"), true],
    ["thousands of long names, two of which are the same", `${names(32_000, 300)},"a":1,"a":2`, false],
  ] as const)("is read in steps, between which others are served, where it has %s", ([, more, isTaken]) =>
    Effect.gen(function* () {
      const { ciphertext, enc, session_id } = GOOD
      const body = `{"session_id":"${session_id}","enc":"${enc}",${more},"ciphertext":"${ciphertext}"}`
      let turns = 0
      let reading = true
      const turn = () => {
        turns++
        if (reading) setImmediate(turn)
      }
      setImmediate(turn)
      const envelope = yield* Effect.result(readEnvelope(utf8(body).buffer))
      reading = false
      assert.strictEqual(Result.isSuccess(envelope), isTaken)
      // At least one turn for each 512 KiB.
      assert.isAbove(turns, body.length / (512 * 1024))
    }),
  )

  it("is refused with the issues of the schema, for any members", () => {
    for (const session_id of Value.literals) {
      for (const enc of Value.literals) {
        for (const ciphertext of Value.literals) {
          const body = `{"session_id":${session_id},"enc":${enc},"ciphertext":${ciphertext}}`
          if (jsonFault(body) !== undefined) continue
          const refused = resultOf(body)
          assert.deepStrictEqual(Result.isFailure(refused) ? refused.failure.errors : [], faultsOf(body), body)
        }
      }
    }
  })

  it.effect.prop(
    "is read with its members in any order and spacing",
    [Space, Schema.Literals([0, 1, 2])],
    ([space, at]) =>
      Effect.sync(() => {
        const members = Object.entries(GOOD).map(([name, value]) => `${space}"${name}"${space}:${space}"${value}"`)
        const body = `${space}{${[...members.slice(at), ...members.slice(0, at)].join(`${space},`)}${space}}${space}`
        assert.deepStrictEqual(read(body), GOOD)
      }),
  )

  it("is read correctly wherever a text is cut off", () => {
    const whole = JSON.stringify(GOOD)
    for (let end = 0; end < whole.length; end++) assert.isUndefined(read(whole.slice(0, end)))
    assert.deepStrictEqual(read(whole), GOOD)
  })

  it("keeps a ciphertext that is not canonical base64url as text, which opening refuses", () => {
    const odd = { ...GOOD, ciphertext: "AB" }
    assert.isUndefined(decodeBase64Url(odd.ciphertext))
    assert.deepStrictEqual(read(JSON.stringify(odd)), odd)
  })

  it("is refused with all its faults", () => {
    const refused = resultOf(JSON.stringify({ session_id: "-", enc: 7 }))
    assert(Result.isFailure(refused))
    assert.deepStrictEqual(
      refused.failure.errors?.map(({ path }) => path),
      ["payload.session_id", "payload.enc", "payload.ciphertext"],
    )
  })
})
