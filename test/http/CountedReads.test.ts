/** All GET requests count against a limit, even for unknown paths; probes have a separate one. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { call, callOperator, databaseUrl, problemIn, startGateway } from "../support/gateway.ts"
import { startProxy } from "../support/proxy.ts"
import { INIT } from "../support/sealing.ts"

const PAGES = ["/openapi.json", "/docs", "/console", "/console/main.js", "/console/style.css"]
const UNSERVED = ["/metrics", "/", "/no/such/path"]
const PROBES = ["/health", "/ready"]
const OPERATIONS = ["/health", "/ready", "/metrics"]

const SERVERS = [
  {
    kind: "proxy",
    paths: [...PAGES, ...UNSERVED, "/v1/keys", "/v1/models", "/v1/init"],
    limited: (read: number, probes: number) =>
      startProxy({ settings: { rateLimitRead: read, rateLimitProbes: probes } }),
  },
  {
    kind: "gateway",
    paths: [...PAGES, ...UNSERVED],
    limited: Effect.fnUntraced(function* (read: number, probes: number) {
      const limits = { RATE_LIMIT_READ: String(read), RATE_LIMIT_PROBES: String(probes) }
      return yield* startGateway(yield* databaseUrl({ kind: "sqlite" }), limits)
    }),
  },
] as const

describe.each(SERVERS)("the $kind", ({ limited, paths }) => {
  it.live.each(paths)("counts GET %s", (path) =>
    Effect.gen(function* () {
      const server = yield* limited(2, 10)
      const { status } = yield* call(server, "GET", path)
      assert.notStrictEqual(status, 429)
      assert.strictEqual((yield* call(server, "HEAD", path)).status, status)
      const refused = yield* call(server, "GET", path)
      assert.deepStrictEqual([refused.status, problemIn(refused).code], [429, "rate-limited"])
      assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]\d*$/)
      assert.strictEqual((yield* call(server, "GET", "/openapi.json")).status, 429)
      for (const probe of PROBES) assert.strictEqual((yield* call(server, "GET", probe)).status, 200)
    }),
  )

  it.live("counts probes and operator requests separately", () =>
    Effect.gen(function* () {
      const server = yield* limited(10, 4)
      for (const path of [...PROBES, ...PROBES]) assert.strictEqual((yield* call(server, "GET", path)).status, 200)
      for (const path of PROBES) {
        assert.strictEqual((yield* call(server, "GET", path)).status, 429)
        assert.strictEqual((yield* call(server, "HEAD", path)).status, 429)
      }
      for (const path of [...OPERATIONS, "/ready"]) {
        assert.strictEqual((yield* callOperator(server, path)).status, 200)
      }
      for (const path of [...OPERATIONS, "/other"]) {
        assert.strictEqual((yield* callOperator(server, path)).status, 429)
      }
      assert.strictEqual((yield* call(server, "GET", "/openapi.json")).status, 200)
    }),
  )
})

it.live("reads do not use up other limits", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy({ settings: { rateLimitRead: 1 } })
    for (const status of [200, 429]) assert.strictEqual((yield* call(proxy, "GET", "/v1/keys")).status, status)
    assert.strictEqual((yield* call(proxy, "POST", "/v1/init", { body: INIT })).status, 200)
  }),
)
