/** JSON that is small to send and expensive to handle is refused before it is parsed. Under the seal, the conformance kit tries it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { JSON_LIMITS } from "../../src/domain/json/iJson.ts"
import { call, databaseUrl, problemIn, startGateway, tokenFor } from "../support/gateway.ts"
import { startProxy } from "../support/proxy.ts"
import { INIT, jsonOf } from "../support/sealing.ts"

const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth)
const { depth: MAX_JSON_DEPTH, values: MAX_JSON_VALUES } = JSON_LIMITS
const LIMITS = new RegExp(`${MAX_JSON_DEPTH} levels and ${MAX_JSON_VALUES} values`)
const GATEWAY_LIMITS = new RegExp(`${MAX_JSON_DEPTH} levels and 8192 values`)

/** Just under the limits, and just over them: as the value of a member `x` of the body. */
const DEEPEST = nested(MAX_JSON_DEPTH - 1)
const TOO_DEEP = nested(MAX_JSON_DEPTH)
const values = (count: number): string => `[${"0,".repeat(count - 1)}0]`
const TOO_MANY = values(MAX_JSON_VALUES + 1)

describe("a body nested too deeply or with too many values", () => {
  it.live("is refused by the proxy", () =>
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

  it.live("is refused by the gateway after authentication", () =>
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
})

it.live("only the first of very many invalid members are reported", () =>
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
