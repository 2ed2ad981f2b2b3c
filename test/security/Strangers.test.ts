/** Nothing that a stranger can fetch on a public port reveals the activity of others. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { call, callOperator, databaseUrl, startGateway, tokenFor } from "../support/gateway.ts"
import { beginSession } from "../support/sealing.ts"
import { sealedSetup } from "../support/sealedSetup.ts"

/** Paths that are not in the OpenAPI document. */
const BESIDE = ["/", "/docs", "/docs/main.js", "/console", "/console/main.js", "/console/style.css", "/openapi.json"]
const GUESSED = ["/metrics", "/v1/completions", "/v1/sessions", "/api/v1/jobs?limit=1", "/nothing"]

/** Headers that differ from one request to the next: the time, and the request's trace. */
const OF_REQUEST: ReadonlySet<string> = new Set(["date", "request-id", "x-request-id"])

/** Everything that can be fetched, as it looks but for the time and the name of the request. */
const everything = Effect.fnUntraced(function* (proxy: { readonly url: string }) {
  const { json } = yield* call(proxy, "GET", "/openapi.json")
  const paths = [...Object.keys(Object(json["paths"])), ...BESIDE, ...GUESSED]
  return yield* Effect.forEach(
    paths.flatMap((path) => ["GET", "HEAD", "OPTIONS"].map((method) => [method, path] as const)),
    ([method, path]) =>
      Effect.map(call(proxy, method, path), ({ headers, status, text }) => ({
        asked: `${method} ${path}`,
        status,
        headers: [...headers].filter(([name]) => !OF_REQUEST.has(name)),
        text: text.replace(/"(trace|request)_id":"[\da-f]{32}"/, ""),
      })),
  )
})

it.live("public endpoints answer the same before and after an exchange", () =>
  Effect.gen(function* () {
    const { fake, proxy } = yield* sealedSetup()
    fake.always({ text: "one two three" })
    const before = yield* everything(proxy)
    assert.isAbove(before.filter(({ status }) => status === 200).length, 15)
    const told = yield* callOperator(proxy, "/ready")
    yield* Effect.promise(async () => {
      await beginSession(proxy)
      const client = proxy.client()
      await client.complete({ prompt: "hello" })
      await (await client.stream({ prompt: "hello" })).text()
      await client.complete({ prompt: "hello" }, { provider: "provider4" }).catch(() => undefined)
    })
    // Only the operator sees it.
    assert.notStrictEqual((yield* callOperator(proxy, "/ready")).text, told.text)
    assert.deepStrictEqual(yield* everything(proxy), before)
  }),
)

it.live("a gateway's public endpoints answer the same before and after a job that called a sealed proxy", () =>
  Effect.gen(function* () {
    const { fake, proxy } = yield* sealedSetup()
    fake.always({ text: "one two three" })
    const gateway = yield* startGateway(
      yield* databaseUrl({ kind: "sqlite" }),
      { PROVIDER1_SEALED_PIN: proxy.kid, PROVIDER1_BASE_URL: proxy.url, PROVIDER1_MODEL: "model-1" },
      "configured",
    )
    const [atGateway, atProxy] = [yield* everything(gateway), yield* everything(proxy)]
    assert.isAbove(atGateway.filter(({ status }) => status === 200).length, 15)
    const told = yield* callOperator(gateway, "/metrics")
    const token = yield* tokenFor("alice")
    const { json: agent } = yield* call(gateway, "POST", "/api/v1/agents", { token, body: { name: "a" } })
    const path = `/api/v1/agents/${String(agent["id"])}/execute`
    const { json: made } = yield* call(gateway, "POST", path, { token, body: { task: "x", mode: "verified" } })
    const { json: job } = yield* call(gateway, "GET", `/api/v1/jobs/${String(made["id"])}?wait=30`, { token })
    assert.strictEqual(job["status"], "completed")
    assert.isAbove(fake.requests.length, 0)
    assert.notStrictEqual((yield* callOperator(gateway, "/metrics")).text, told.text)
    assert.deepStrictEqual(yield* everything(gateway), atGateway)
    assert.deepStrictEqual(yield* everything(proxy), atProxy)
    // A path that exists now still looks like one that does not.
    for (const known of [`/api/v1/jobs/${String(job["id"])}`, `/api/v1/agents/${String(agent["id"])}`]) {
      const [named, nameless] = [
        yield* call(gateway, "GET", known),
        yield* call(gateway, "GET", known.replace(/.$/, "x")),
      ]
      assert.deepStrictEqual([named.status, nameless.status], [401, 401])
    }
  }),
)
