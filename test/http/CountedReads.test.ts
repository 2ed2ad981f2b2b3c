/** All GET requests count against a limit, even for unknown paths; probes have a separate one. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { call, callOperator, databaseUrl, problemIn, startGateway } from "../support/gateway.ts"
import { startProxy } from "../support/proxy.ts"
import { INIT } from "../support/sealing.ts"

const PAGES = ["/openapi.json", "/docs", "/console", "/console/main.js", "/console/style.css"]
const PROBES = ["/health", "/ready"]
const OPERATIONS = ["/health", "/ready", "/metrics"]

describe("the proxy", () => {
  for (const path of [...PAGES, "/v1/keys", "/v1/models", "/metrics", "/", "/no/such/path", "/v1/init"]) {
    it.live(`counts GET ${path}`, () =>
      Effect.gen(function* () {
        const proxy = yield* startProxy({ settings: { rateLimitRead: 2 } })
        const { status } = yield* call(proxy, "GET", path)
        assert.notStrictEqual(status, 429)
        assert.strictEqual((yield* call(proxy, "HEAD", path)).status, status)
        const refused = yield* call(proxy, "GET", path)
        assert.deepStrictEqual([refused.status, problemIn(refused).code], [429, "rate-limited"])
        assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]\d*$/)
        assert.strictEqual((yield* call(proxy, "GET", "/v1/keys")).status, 429)
        // Reads do not use up other limits.
        assert.strictEqual((yield* call(proxy, "POST", "/v1/init", { body: INIT })).status, 200)
        for (const probe of PROBES) assert.strictEqual((yield* call(proxy, "GET", probe)).status, 200)
      }),
    )
  }

  it.live("counts probes and operator requests separately", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy({ settings: { rateLimitProbes: 4 } })
      for (const path of [...PROBES, ...PROBES]) assert.strictEqual((yield* call(proxy, "GET", path)).status, 200)
      for (const path of PROBES) {
        assert.strictEqual((yield* call(proxy, "GET", path)).status, 429)
        assert.strictEqual((yield* call(proxy, "HEAD", path)).status, 429)
      }
      for (const path of [...OPERATIONS, "/ready"]) {
        assert.strictEqual((yield* callOperator(proxy, path)).status, 200)
      }
      for (const path of [...OPERATIONS, "/other"]) {
        assert.strictEqual((yield* callOperator(proxy, path)).status, 429)
      }
      assert.strictEqual((yield* call(proxy, "GET", "/v1/keys")).status, 200)
    }),
  )
})

describe("the gateway", () => {
  for (const path of [...PAGES, "/metrics", "/", "/no/such/path"]) {
    it.live(`counts GET ${path}`, () =>
      Effect.gen(function* () {
        const gateway = yield* startGateway(yield* databaseUrl({ kind: "sqlite" }), { RATE_LIMIT_READ: "2" })
        const ask = Effect.map(call(gateway, "GET", path), ({ status }) => status)
        const [first, second, third] = yield* Effect.all([ask, ask, ask])
        assert.notStrictEqual(first, 429)
        assert.strictEqual(second, first)
        assert.strictEqual(third, 429)
        for (const probe of PROBES) assert.strictEqual((yield* call(gateway, "GET", probe)).status, 200)
      }),
    )
  }

  it.live("counts probes separately", () =>
    Effect.gen(function* () {
      const gateway = yield* startGateway(yield* databaseUrl({ kind: "sqlite" }), { RATE_LIMIT_PROBES: "2" })
      for (const path of PROBES) assert.strictEqual((yield* call(gateway, "GET", path)).status, 200)
      for (const path of PROBES) assert.strictEqual((yield* call(gateway, "GET", path)).status, 429)
      assert.strictEqual((yield* call(gateway, "GET", "/openapi.json")).status, 200)
    }),
  )
})
