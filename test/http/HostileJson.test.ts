/** JSON that is small to send and large to handle: refused before it is parsed, in clear and within the seal. */
import { randomUUID } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SealedProblem } from "../../src/client/errors.ts"
import { utf8 } from "../../src/domain/bytes.ts"
import { MAX_JSON_DEPTH, MAX_JSON_VALUES } from "../../src/domain/jsonLimits.ts"
import { COMPLETE_FLOOR, pad } from "../../src/domain/padding.ts"
import { call, databaseUrl, problemIn, startGateway, tokenFor } from "../support/gateway.ts"
import { startProxy } from "../support/proxy.ts"
import { beginSession, jsonOf, post, sealBlock } from "../support/sealing.ts"
import { failureOf } from "../support/tamper.ts"

const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth)
const LIMITS = new RegExp(`${MAX_JSON_DEPTH} levels and ${MAX_JSON_VALUES} values`)

/** Just under the limits, and just over them: as the value of a member `x` of the body. */
const DEEPEST = nested(MAX_JSON_DEPTH - 1)
const TOO_DEEP = nested(MAX_JSON_DEPTH)
const TOO_MANY = `[${"0,".repeat(MAX_JSON_VALUES)}0]`

describe("a body nested too deeply, or with too many values, is refused", () => {
  it.live("by the proxy", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const init = (x: string) =>
        Effect.promise(() =>
          fetch(`${proxy.url}/v1/init`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: `{"x":${x}}`,
          }),
        )
      assert.strictEqual((yield* init(DEEPEST)).status, 200)
      for (const x of [TOO_DEEP, nested(500_000), TOO_MANY]) {
        const response = yield* init(x)
        assert.strictEqual(response.status, 400)
        const problem = yield* Effect.promise(() => jsonOf(response))
        assert.strictEqual(problem["code"], "malformed")
        assert.match(String(problem["detail"]), LIMITS)
      }
    }),
  )

  it.live("by the gateway, and only once it knows who asks", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl({ kind: "sqlite" }))
      const token = yield* tokenFor("alice")
      const create = (x: string, token?: string) =>
        call(gateway, "POST", "/api/v1/agents", {
          body: `{"name":"a","x":${x}}`,
          ...(token === undefined ? {} : { token }),
        })
      // Refused as a member that nobody knows: it was looked at.
      assert.deepStrictEqual(
        problemIn(yield* create(DEEPEST, token)).errors?.map(({ path }) => path),
        ["payload.x"],
      )
      for (const x of [TOO_DEEP, nested(500_000), TOO_MANY]) {
        const problem = problemIn(yield* create(x, token))
        assert.deepStrictEqual([problem.status, problem.code], [400, "invalid-request"])
        assert.match(problem.detail ?? "", LIMITS)
        assert.strictEqual(problem.instance, "/api/v1/agents")
      }
      assert.strictEqual((yield* create(TOO_DEEP)).status, 401)
    }),
  )

  it.live("within the seal, under the seal", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const client = proxy.client()
      const session = yield* Effect.promise(() => beginSession(proxy))
      const complete = (x: unknown) => client.complete({ prompt: "hello", x } as Parameters<typeof client.complete>[0])
      // Two levels are taken by the payload and its completion.
      const { completion } = yield* Effect.promise(() => complete(JSON.parse(nested(MAX_JSON_DEPTH - 2))))
      assert.strictEqual(completion.choices[0]?.message.content, "hello")
      for (const x of [nested(MAX_JSON_DEPTH - 1), nested(5000), TOO_MANY]) {
        const error = yield* Effect.promise(() => failureOf(complete(JSON.parse(x))))
        assert.instanceOf(error, SealedProblem)
        assert.isTrue(error.sealed)
        assert.deepStrictEqual([error.problem.status, error.problem.code], [400, "invalid-request"])
        assert.match(error.problem.detail ?? "", LIMITS)
      }
      // As deep as fits into a request, which no client writes by accident.
      const payload = `{"request_id":"${randomUUID()}","issued_at":${Date.now()},"completion":${nested(300_000)}}`
      const body = yield* Effect.promise(() => sealBlock(session, pad(utf8(payload), COMPLETE_FLOOR)))
      const refused = yield* Effect.promise(() => post(proxy, "/v1/completions", body))
      assert.strictEqual(refused.status, 400)
      assert.hasAllKeys(yield* Effect.promise(() => jsonOf(refused)), ["response_nonce", "frames"])
    }),
  )
})

it.live("of very many wrong members only the first are told", () =>
  Effect.gen(function* () {
    const gateway = yield* startGateway(yield* databaseUrl({ kind: "sqlite" }))
    const token = yield* tokenFor("alice")
    const few = `{"name":"a","model_policy":{"allow":[${Array.from({ length: 20 }, () => 1).join(",")}]}}`
    const many = `{"name":"a","model_policy":{"allow":[${Array.from({ length: 30_000 }, () => 1).join(",")}]}}`
    const told = (body: string) => call(gateway, "POST", "/api/v1/agents", { token, body })
    assert.lengthOf(problemIn(yield* told(few)).errors ?? [], 20)
    const answer = yield* told(many)
    assert.lengthOf(problemIn(answer).errors ?? [], 64)
    assert.isBelow(answer.text.length, 16 * 1024)
  }),
)
