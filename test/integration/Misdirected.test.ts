/** Programs and servers with a wrong address: a proxy instead of a provider, or its own connector. */
import Anthropic from "@anthropic-ai/sdk"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import OpenAI from "openai"
import { SealedProblem } from "../../src/client/errors.ts"
import { startConnector } from "../support/connector.ts"
import { freePort } from "../support/freePort.ts"
import { failing } from "../support/promises.ts"
import { startProxy } from "../support/proxy.ts"

describe("an SDK whose base URL is a sealed proxy", () => {
  it.live("shows which command to run and which address to use instead", () =>
    Effect.gen(function* () {
      const { url } = yield* startProxy()
      for (const baseURL of [url, `${url}/v1`]) {
        const openai = new OpenAI({ baseURL, apiKey: "unused", maxRetries: 0 })
        const error = yield* failing(
          openai.chat.completions.create({ model: "m", messages: [{ role: "user", content: "Hi" }] }),
        )
        assert.include(String(error), "404 This is a sealed proxy")
        assert.include(String(error), "sealgate connect --proxy")
        assert.include(String(error), "createSealedFetch")
      }
      const anthropic = new Anthropic({ baseURL: url, apiKey: "unused", maxRetries: 0 })
      const messages = [{ role: "user", content: "Hi" }] as const
      for (const asking of [
        () => anthropic.messages.create({ model: "m", max_tokens: 9, messages: [...messages] }),
        () => anthropic.messages.countTokens({ model: "m", messages: [...messages] }),
      ]) {
        assert.include(String(yield* failing(asking())), "sealgate connect --proxy")
      }
      const response = yield* Effect.promise(() => fetch(`${url}/v1/nothing`, { method: "POST" }))
      assert.deepInclude(yield* Effect.promise(() => response.json()), { code: "not-found" })
    }),
  )
})

describe("a proxy whose provider is itself", () => {
  const saysSo = (error: unknown) => {
    assert.instanceOf(error, SealedProblem)
    if (error instanceof SealedProblem) assert.strictEqual(error.problem.code, "upstream-misconfigured")
    assert.include(String(error), "Another server, perhaps this one, is at")
  }

  it.live("reports that its own address is the provider's", () =>
    Effect.gen(function* () {
      const port = yield* Effect.promise(freePort)
      const provider1BaseUrl = new URL(`http://127.0.0.1:${port}/v1`)
      const proxy = yield* startProxy({ settings: { port, provider1ApiKey: Redacted.make("key"), provider1BaseUrl } })
      saysSo(yield* failing(proxy.client().complete({ prompt: "Hi" })))
    }),
  )

  it.live("reports that it is called through its own connector", () =>
    Effect.gen(function* () {
      const port = yield* Effect.promise(freePort)
      const provider1BaseUrl = new URL(`http://127.0.0.1:${port}/v1`)
      const proxy = yield* startProxy({ settings: { provider1ApiKey: Redacted.make("key"), provider1BaseUrl } })
      yield* startConnector({ port, sealed: { baseUrl: proxy.url, pins: [proxy.kid] } })
      saysSo(yield* failing(proxy.client().complete({ prompt: "Hi" })))
    }),
  )
})

describe("the root of a server", () => {
  it.live("redirects browsers to the console, and lists pages for programs", () =>
    Effect.gen(function* () {
      const { url } = yield* startProxy()
      const get = (accept: string) =>
        Effect.promise(() => fetch(`${url}/`, { headers: { accept }, redirect: "manual" }))
      const page = yield* get("text/html,application/xhtml+xml,*/*;q=0.8")
      assert.deepStrictEqual([page.status, page.headers.get("location")], [302, "console"])
      const list = yield* get("*/*")
      assert.strictEqual(list.status, 200)
      assert.deepInclude(yield* Effect.promise(() => list.json()), { component: "proxy", pages: ["console", "docs"] })
      const without = yield* startProxy({ settings: { console: false } })
      const bare = yield* Effect.promise(() => fetch(`${without.url}/`, { headers: { accept: "text/html" } }))
      assert.match(bare.url, /\/docs$/)
    }),
  )
})
