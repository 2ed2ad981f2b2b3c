/** What a stranger on the public port learns of sealed exchanges from all that can be fetched there: nothing. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { call, callOperator } from "../support/gateway.ts"
import type { RunningProxy } from "../support/proxy.ts"
import { beginSession } from "../support/sealing.ts"
import { sealedSetup } from "../support/sealedSetup.ts"

/** What no description names. */
const BESIDE = ["/", "/docs", "/docs/main.js", "/console", "/console/main.js", "/console/style.css", "/openapi.json"]
const GUESSED = ["/metrics", "/v1/completions", "/v1/sessions", "/nothing"]

/** Everything that can be fetched, as it looks but for the time. */
const everything = Effect.fnUntraced(function* (proxy: RunningProxy) {
  const { json } = yield* call(proxy, "GET", "/openapi.json")
  const paths = [...Object.keys(Object(json["paths"])), ...BESIDE, ...GUESSED]
  return yield* Effect.forEach(
    paths.flatMap((path) => ["GET", "HEAD", "OPTIONS"].map((method) => [method, path] as const)),
    ([method, path]) =>
      Effect.map(call(proxy, method, path), ({ headers, status, text }) => ({
        asked: `${method} ${path}`,
        status,
        headers: [...headers].filter(([name]) => name !== "date"),
        text,
      })),
  )
})

it.live("all that a stranger can fetch is the same before and after an exchange", () =>
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
    // Its operator is told of it.
    assert.notStrictEqual((yield* callOperator(proxy, "/ready")).text, told.text)
    assert.deepStrictEqual(yield* everything(proxy), before)
  }).pipe(Effect.scoped),
)
