/** JSON that is small to send and expensive to handle is refused before it is parsed, both plain and sealed. */
import { randomUUID } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SealedProblem } from "../../src/client/errors.ts"
import { concat, utf8 } from "../../src/domain/bytes/bytes.ts"
import { JSON_LIMITS } from "../../src/domain/json/iJson.ts"
import { FLOOR, pad } from "../../src/domain/protocol/padding.ts"
import { joinContent } from "../../src/domain/protocol/sealedContent.ts"
import { call, databaseUrl, problemIn, startGateway, tokenFor } from "../support/gateway.ts"
import { startProxy } from "../support/proxy.ts"
import { INIT, beginSession, jsonOf, openedProblem, payloadOf, post, seal, sealBlock } from "../support/sealing.ts"
import { failureOf } from "../support/tamper.ts"

const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth)
const { depth: MAX_JSON_DEPTH, values: MAX_JSON_VALUES } = JSON_LIMITS
const LIMITS = new RegExp(`${MAX_JSON_DEPTH} levels and ${MAX_JSON_VALUES} values`)
const GATEWAY_LIMITS = new RegExp(`${MAX_JSON_DEPTH} levels and 8192 values`)

/** Just under the limits, and just over them: as the value of a member `x` of the body. */
const DEEPEST = nested(MAX_JSON_DEPTH - 1)
const TOO_DEEP = nested(MAX_JSON_DEPTH)
const values = (count: number): string => `[${"0,".repeat(count - 1)}0]`
const TOO_MANY = values(MAX_JSON_VALUES + 1)

describe("a body nested too deeply, or with too many values, is refused", () => {
  it.live("by the proxy", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const send = (path: string, x: string) =>
        Effect.promise(() =>
          fetch(proxy.url + path, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify(INIT).replace("{", `{"x":${x},`),
          }),
        )
      assert.strictEqual((yield* send("/v1/init", DEEPEST)).status, 200)
      for (const [path, x] of [
        ["/v1/init", TOO_DEEP],
        ["/v1/completions", TOO_DEEP],
        ["/v1/completions", nested(500_000)],
        ["/v1/completions", TOO_MANY],
      ] as const) {
        const response = yield* send(path, x)
        assert.strictEqual(response.status, 400)
        const problem = yield* Effect.promise(() => jsonOf(response))
        assert.strictEqual(problem["code"], "malformed")
        assert.match(String(problem["detail"]), LIMITS)
      }
    }),
  )

  it.live("by the gateway, after authentication", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl({ kind: "sqlite" }))
      const token = yield* tokenFor("alice")
      const create = (x: string, token?: string) =>
        call(gateway, "POST", "/api/v1/agents", {
          body: `{"name":"a","x":${x}}`,
          ...(token === undefined ? {} : { token }),
        })
      // Refused as an unknown member, so it was parsed.
      assert.deepStrictEqual(
        problemIn(yield* create(DEEPEST, token)).errors?.map(({ path }) => path),
        ["payload.x"],
      )
      // Two more are the members of the body.
      assert.isUndefined(problemIn(yield* create(values(8192 - 2), token)).detail)
      for (const x of [TOO_DEEP, nested(500_000), values(8192 - 1)]) {
        const problem = problemIn(yield* create(x, token))
        assert.deepStrictEqual([problem.status, problem.code], [400, "invalid-request"])
        assert.match(problem.detail ?? "", GATEWAY_LIMITS)
        assert.strictEqual(problem.instance, "/api/v1/agents")
      }
      assert.strictEqual((yield* create(TOO_DEEP)).status, 401)
    }),
  )

  it.live("by the proxy inside the seal, with a sealed problem", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const client = proxy.client()
      const session = yield* Effect.promise(() => beginSession(proxy))
      const complete = (x: unknown) => client.complete({ prompt: "hello", x } as Parameters<typeof client.complete>[0])
      // The payload and its body take two levels.
      const { completion } = yield* Effect.promise(() => complete(JSON.parse(nested(MAX_JSON_DEPTH - 2))))
      assert.strictEqual(completion.choices[0]?.message.content, "hello")
      for (const x of [nested(MAX_JSON_DEPTH - 1), nested(5000), TOO_MANY]) {
        const error = yield* Effect.promise(() => failureOf(complete(JSON.parse(x))))
        assert.instanceOf(error, SealedProblem)
        assert.isTrue(error.sealed)
        assert.deepStrictEqual([error.problem.status, error.problem.code], [400, "invalid-request"])
        assert.match(error.problem.detail ?? "", LIMITS)
      }
      // The deepest nesting that fits into a request.
      const payload = `{"request_id":"${randomUUID()}","issued_at":${Date.now()},"api":"chat.completions","body":${nested(300_000)}}`
      const body = yield* Effect.promise(() => sealBlock(session, pad(joinContent("", utf8(payload)), FLOOR)))
      const refused = yield* Effect.promise(() => post(proxy, "/v1/completions", body))
      assert.strictEqual(refused.status, 200)
      assert.hasAllKeys(yield* Effect.promise(() => jsonOf(refused)), ["response_nonce", "frames"])
    }),
  )
})

/** Values that `JSON.parse` accepts but I-JSON (RFC 7493) does not, with the error detail. */
const NOT_I_JSON: ReadonlyArray<readonly [value: string | Uint8Array<ArrayBuffer>, told: string]> = [
  ['{"a":1,"b":[],"a":1}', 'An object has two members "a".'],
  ['{"a":1,"\\u0061":2}', 'An object has two members "a".'],
  ['"\\ud83d"', "A string contains an unpaired surrogate."],
  ['{"\\udc4b\\ud83d":1}', "A string contains an unpaired surrogate."],
  // Cut short, overlong, and half of a pair in what looks like UTF-8.
  [new Uint8Array([0x22, 0xe2, 0x82, 0x22]), "It is not UTF-8."],
  [new Uint8Array([0x22, 0xc1, 0x81, 0x22]), "It is not UTF-8."],
  [new Uint8Array([0x22, 0xed, 0xa0, 0xbd, 0x22]), "It is not UTF-8."],
]
const BOM = new Uint8Array([0xef, 0xbb, 0xbf])
const MARKED = "It begins with a byte order mark."

const bytesOf = (value: string | Uint8Array): Uint8Array => (typeof value === "string" ? utf8(value) : value)

/** `json` with the member `x` added to its object. */
const withX = (json: object, x: string | Uint8Array) =>
  concat(utf8(`${JSON.stringify(json).slice(0, -1)},"x":`), bytesOf(x), utf8("}"))

describe("a body that is not I-JSON is refused", () => {
  it.live("by the proxy", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const session = yield* Effect.promise(() => beginSession(proxy))
      const { body } = yield* Effect.promise(() => seal(session, { prompt: "hello" }))
      const send = (path: string, body: Uint8Array<ArrayBuffer>) =>
        Effect.promise(async () => {
          const headers = { "content-type": "application/json" }
          const response = await fetch(proxy.url + path, { method: "POST", headers, body })
          return { status: response.status, problem: await jsonOf(response) }
        })
      for (const [path, json] of [
        ["/v1/init", INIT],
        ["/v1/completions", body],
      ] as const) {
        for (const [body, told] of [
          ...NOT_I_JSON.map(([value, told]) => [withX(json, value), told] as const),
          [concat(BOM, utf8(JSON.stringify(json))), MARKED] as const,
        ]) {
          const { problem, status } = yield* send(path, body)
          assert.deepStrictEqual([status, problem["code"], problem["detail"]], [400, "malformed", told])
        }
      }
      // One valid member does not make up for an invalid one.
      const twice = withX(body, '1,"enc":"AAAA"')
      assert.strictEqual((yield* send("/v1/completions", twice)).problem["code"], "malformed")
      // Nothing was used up by then, and unknown members do no harm, even with noncharacters and surrogate pairs.
      const known = withX(body, '{"\\ud83d\\udc4b":["\\uffff","\u{1F44B}"]}')
      assert.strictEqual((yield* send("/v1/completions", known)).status, 200)
    }),
  )

  it.live("by the proxy inside the seal, with a sealed problem", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const session = yield* Effect.promise(() => beginSession(proxy))
      const ask = (json: string, x: string | Uint8Array<ArrayBuffer>, before: Uint8Array<ArrayBuffer>) =>
        Effect.promise(() => openedProblem(proxy, session, concat(before, withX(JSON.parse(json), x))))
      const good = payloadOf(session, { prompt: "hello" })
      for (const [x, told, before] of [
        ...NOT_I_JSON.map(([value, told]) => [value, told, new Uint8Array()] as const),
        ["1", MARKED, BOM] as const,
      ]) {
        const { problem, status } = yield* ask(good, x, before)
        assert.strictEqual(status, 200)
        assert.deepStrictEqual([problem["code"], problem["detail"]], ["invalid-request", told])
      }
      // Two questions in one request: two verifiers could read different ones.
      const twice = yield* ask(good, '1,"body":{"prompt":"goodbye"}', new Uint8Array())
      assert.strictEqual(twice.problem["detail"], 'An object has two members "body".')
    }),
  )
})

it.live("of very many invalid members, only the first are reported", () =>
  Effect.gen(function* () {
    const gateway = yield* startGateway(yield* databaseUrl({ kind: "sqlite" }))
    const token = yield* tokenFor("alice")
    const few = `{"name":"a","model_policy":{"allow":[${Array.from({ length: 20 }, () => 1).join(",")}]}}`
    const many = `{"name":"a","model_policy":{"allow":[${Array.from({ length: 8000 }, () => 1).join(",")}]}}`
    const told = (body: string) => call(gateway, "POST", "/api/v1/agents", { token, body })
    assert.lengthOf(problemIn(yield* told(few)).errors ?? [], 20)
    const answer = yield* told(many)
    assert.lengthOf(problemIn(answer).errors ?? [], 64)
    assert.isBelow(answer.text.length, 16 * 1024)
  }),
)
