/** Unmodified SDKs of OpenAI, Anthropic and Vercel against the gateway, over real sockets. */
import { existsSync, readFileSync } from "node:fs"
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { assert, describe, it } from "@effect/vitest"
import { generateText, streamText } from "ai"
import {
  APIError as AnthropicAPIError,
  AuthenticationError as AnthropicAuthenticationError,
  NotFoundError as AnthropicNotFoundError,
} from "@anthropic-ai/sdk"
import { Effect, Fiber } from "effect"
import {
  APIError,
  AuthenticationError,
  BadRequestError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
} from "openai"
import { sqlite } from "../support/databases.ts"
import { ask, costOf, ROUTING, startCalls, until } from "../support/calls.ts"
import { fault } from "../support/FakeUpstream.ts"
import { call, tokenFor } from "../support/gateway.ts"
import { claudeMessage, GPT_USAGE, gptResponse, numbered } from "../support/nativeAnswers.ts"
import { namedEvents, startNative } from "../support/nativeUpstream.ts"
import { collected, failing } from "../support/promises.ts"

const tools = [
  {
    type: "function" as const,
    function: { name: "weather", parameters: { type: "object", properties: { city: { type: "string" } } } },
  },
]

describe("OpenAI's SDK", () => {
  it.live("gets a whole answer, whose ledger row is the provider's bill", () =>
    Effect.gen(function* () {
      const { fake, makeKey, openai, stats } = yield* startCalls(sqlite)
      fake.script({ text: "Hello", usage: { input: 9, output: 2 } })
      const client = openai(yield* makeKey())
      const answer = yield* Effect.promise(() => client.chat.completions.create({ ...ask("Hi"), seed: 7 }))
      assert.strictEqual(answer.choices[0]?.message.content, "Hello")
      assert.match(answer._request_id ?? "", /^[\da-f]{32}$/)
      assert.deepInclude(fake.requests[0]?.asked?.body, { model: "model-1", seed: 7 })
      assert.strictEqual(fake.requests[0]?.asked?.key, "key-1")
      assert.deepInclude(yield* stats, { calls: 1, input_tokens: 9, output_tokens: 2, actual_micro_usd: costOf(9, 2) })
    }),
  )

  it.live("gets a stream with tool calls, and token counts only if it asks for them", () =>
    Effect.gen(function* () {
      const { fake, makeKey, openai, stats } = yield* startCalls(sqlite)
      fake.always({
        toolCalls: [{ name: "weather", arguments: { city: "Oslo" } }],
        usage: { input: 20, output: 5 },
      })
      const { chat } = openai(yield* makeKey())
      const silent = yield* collected(chat.completions.create({ ...ask("Weather?"), tools, stream: true }))
      assert.isTrue(silent.every(({ usage }) => usage == null))
      const called = yield* Effect.promise(() => chat.completions.stream({ ...ask("Weather?"), tools }).finalMessage())
      const [made] = called.tool_calls ?? []
      assert.deepStrictEqual(made?.type === "function" && JSON.parse(made.function.arguments), { city: "Oslo" })
      const counted = yield* collected(
        chat.completions.create({
          ...ask("Weather?"),
          tools,
          stream: true,
          stream_options: { include_usage: true },
        }),
      )
      assert.strictEqual(counted.at(-1)?.usage?.completion_tokens, 5)
      assert.deepInclude(yield* stats, { calls: 3, actual_micro_usd: 3 * costOf(20, 5) })
    }),
  )

  it.live("uses the Responses and the Embeddings API, with bodies as they were sent", () =>
    Effect.gen(function* () {
      const native = yield* startNative(({ body, path }) => {
        if (path === "/v1/embeddings") {
          const usage = { prompt_tokens: 4, total_tokens: 4 }
          const data = [{ object: "embedding", index: 0, embedding: [0.5, -1] }]
          return { body: JSON.stringify({ object: "list", data, model: "embedder", usage }) }
        }
        const done = gptResponse("completed", { usage: GPT_USAGE })
        const events = numbered(
          { type: "response.created", response: gptResponse("in_progress") },
          { type: "response.output_text.delta", item_id: "m", output_index: 0, content_index: 0, delta: "Hi" },
          { type: "response.completed", response: done },
        )
        return { body: body.includes('"stream":true') ? namedEvents(...events) : JSON.stringify(done) }
      })
      const { makeKey, openai, stats } = yield* startCalls(sqlite, { PROVIDER1_BASE_URL: `${native.url}/v1` })
      const client = openai(yield* makeKey())
      const whole = yield* Effect.promise(() => client.responses.create({ model: "model-1", input: "Hi" }))
      assert.strictEqual(whole.usage?.output_tokens, 20)
      const events = yield* collected(client.responses.create({ model: "model-1", input: "Hi", stream: true }))
      assert.deepStrictEqual(
        events.map(({ type }) => type),
        ["response.created", "response.output_text.delta", "response.completed"],
      )
      const { data } = yield* Effect.promise(() =>
        client.embeddings.create({ model: "embedder", input: "Hi", encoding_format: "float" }),
      )
      assert.deepStrictEqual(data[0]?.embedding, [0.5, -1])
      const ids = Array.from({ length: 100 }, () => Array.from({ length: 400 }, () => 123_456))
      yield* Effect.promise(() => client.embeddings.create({ model: "embedder", input: ids }))
      assert.strictEqual(native.requests[0]?.body, '{"model":"model-1","input":"Hi"}')
      assert.deepInclude(yield* stats, { calls: 4, actual_micro_usd: 2 * (costOf(900, 20) + costOf(4, 0)) })
    }),
  )

  it.live("throws its own error classes, with the reason", () =>
    Effect.gen(function* () {
      const { fake, gateway, makeKey, openai } = yield* startCalls(sqlite)
      const client = openai(yield* makeKey())
      const thrown = (create: PromiseLike<unknown>) => failing(create)
      const unknown = yield* thrown(client.chat.completions.create(ask("Hi", "gpt-unknown")))
      assert.instanceOf(unknown, NotFoundError)
      assert.deepInclude(unknown, { status: 404, code: "model_not_found", type: "invalid_request_error" })
      const stranger = yield* thrown(openai("sgk_none").chat.completions.create(ask("Hi")))
      assert.instanceOf(stranger, AuthenticationError)
      const reader = openai(yield* makeKey({ roles: ["read"] }))
      assert.instanceOf(yield* thrown(reader.chat.completions.create(ask("Hi"))), PermissionDeniedError)
      fake.script(fault.status(400, { body: { error: { message: "bad temperature", type: "invalid", code: "t" } } }))
      const refused = yield* thrown(client.chat.completions.create({ ...ask("Hi"), temperature: 9 }))
      assert.instanceOf(refused, BadRequestError)
      assert.deepInclude(refused, { code: "t" })
      const nameless = yield* call(gateway, "POST", "/v1/chat/completions", {
        token: yield* makeKey(),
        body: { messages: ask("Hi").messages },
      })
      assert.strictEqual(nameless.status, 400)
      assert.strictEqual(Object(nameless.json["error"]).param, "model")
      const broken = yield* call(gateway, "POST", "/v1/chat/completions", { token: yield* makeKey(), body: "{" })
      assert.deepInclude(Object(broken.json["error"]), { type: "invalid_request_error", code: "invalid-request" })
      const nowhere = yield* call(gateway, "POST", "/v1/audio/speech", { token: yield* makeKey(), body: "{}" })
      assert.strictEqual(nowhere.status, 404)
      assert.strictEqual(Object(nowhere.json["error"]).type, "invalid_request_error")
    }),
  )

  it.live("gets a Retry-After if its key has used up its requests", () =>
    Effect.gen(function* () {
      const { makeKey, openai } = yield* startCalls(sqlite)
      const client = openai(yield* makeKey({ requests_per_minute: 1 }))
      yield* Effect.promise(() => client.chat.completions.create(ask("Hi")))
      const limited = yield* failing(client.chat.completions.create(ask("Hi")))
      assert.instanceOf(limited, RateLimitError)
      assert.deepInclude(limited, { code: "rate_limit_exceeded" })
      assert.isAbove(Number(limited.headers?.get("retry-after")), 0)
    }),
  )

  it.live("is refused while its tenant has too many calls in flight, which does not affect other tenants", () =>
    Effect.gen(function* () {
      const { boss, fake, gateway, makeKey, openai } = yield* startCalls(sqlite, { MAX_CALLS_PER_TENANT: "2" })
      const client = openai(yield* makeKey())
      fake.script(fault.silence, { text: ["one", "two"], delivery: { breaks: { after: 1, how: "silence" } } })
      const leave = new AbortController()
      const { signal } = leave
      const whole = yield* Effect.forkChild(failing(client.chat.completions.create(ask("Hi"), { signal })))
      yield* Effect.promise(() => fake.received(1))
      const stream = yield* Effect.promise(() =>
        client.chat.completions.create({ ...ask("Hi"), stream: true }, { signal }),
      )
      const refused = yield* failing(client.chat.completions.create(ask("Hi")))
      assert.instanceOf(refused, RateLimitError)
      assert.include(refused.message, "At most 2 calls of models of one tenant may be under way.")
      const other = yield* tokenFor("alice", { tenant: "other", roles: ["run"] })
      yield* Effect.promise(() => openai(other).chat.completions.create(ask("Hi")))
      assert.strictEqual((yield* call(gateway, "GET", "/v1/models", { token: boss })).status, 200)
      leave.abort()
      yield* Fiber.join(whole)
      yield* Effect.exit(Effect.tryPromise(() => Array.fromAsync(stream)))
      yield* until(Effect.isSuccess(Effect.tryPromise(() => client.chat.completions.create(ask("Hi")))))
    }),
  )

  it.live("is refused while its key has too many calls in flight, which does not affect other keys", () =>
    Effect.gen(function* () {
      const { fake, makeKey, openai } = yield* startCalls(sqlite)
      const [client, other] = [openai(yield* makeKey({ max_calls_in_flight: 1 })), openai(yield* makeKey())]
      fake.script(fault.silence)
      const leave = new AbortController()
      const first = client.chat.completions.create(ask("Hi"), { signal: leave.signal })
      const whole = yield* Effect.forkChild(failing(first))
      yield* Effect.promise(() => fake.received(1))
      const refused = yield* failing(client.chat.completions.create(ask("Hi")))
      assert.instanceOf(refused, RateLimitError)
      assert.include(refused.message, "At most 1 calls of models of this key may be under way (max_calls_in_flight).")
      yield* Effect.promise(() => other.chat.completions.create(ask("Hi")))
      leave.abort()
      yield* Fiber.join(whole)
      yield* until(Effect.isSuccess(Effect.tryPromise(() => client.chat.completions.create(ask("Hi")))))
    }),
  )

  it.live("has a limit per minute for its tenant that is separate from its address, and gets a Retry-After", () =>
    Effect.gen(function* () {
      const limits = { RATE_LIMIT_EXECUTE: "1000", RATE_LIMIT_TENANT_EXECUTE: "1" }
      const { makeKey, openai } = yield* startCalls(sqlite, limits)
      const [one, two] = [openai(yield* makeKey()), openai(yield* makeKey())]
      yield* Effect.promise(() => one.chat.completions.create(ask("Hi")))
      const limited = yield* failing(two.chat.completions.create(ask("Hi")))
      assert.instanceOf(limited, RateLimitError)
      assert.include(limited.message, "from one tenant")
      assert.deepInclude(limited, { code: "rate_limit_exceeded" })
      assert.isAbove(Number(limited.headers?.get("retry-after")), 0)
      const other = yield* tokenFor("alice", { tenant: "other", roles: ["run"] })
      yield* Effect.promise(() => openai(other).chat.completions.create(ask("Hi")))
    }),
  )

  it.live("fails over to the next target of a name before the first token, and not after it", () =>
    Effect.gen(function* () {
      const { fake, makeKey, openai, stats } = yield* startCalls(sqlite)
      const client = openai(yield* makeKey())
      fake.when({ model: "model-1" }).always(fault.overloaded())
      fake.when({ model: "model-2" }).script({ text: "from the second", usage: { input: 3, output: 3 } })
      const chunks = yield* collected(client.chat.completions.create({ ...ask("Hi", "fast"), stream: true }))
      assert.strictEqual(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join(""), "from the second")
      assert.deepInclude(yield* stats, { requests: 1, calls: 2, failed_calls: 1, actual_micro_usd: costOf(3, 3) })
      fake.when({ model: "model-2" }).script({ text: ["a", "b"], delivery: { breaks: { after: 1, how: "cut" } } })
      const broken = yield* failing(
        (async () => Array.fromAsync(await client.chat.completions.create({ ...ask("Hi", "fast"), stream: true })))(),
      )
      assert.instanceOf(broken, APIError)
      assert.deepInclude(broken, { code: "upstream-interrupted" })
    }),
  )

  it.live("ends the provider's call when it hangs up", () =>
    Effect.gen(function* () {
      const { fake, makeKey, openai } = yield* startCalls(sqlite)
      fake.script({ text: ["one", "two"], delivery: { breaks: { after: 1, how: "silence" } } })
      const client = openai(yield* makeKey())
      yield* Effect.promise(async () => {
        for await (const _ of await client.chat.completions.create({ ...ask("Hi"), stream: true })) break
      })
      assert.strictEqual(yield* Effect.promise(async () => (await fake.received(1)).ended), "hung-up")
    }),
  )

  it.live("lists the names and models that its key may use", () =>
    Effect.gen(function* () {
      const { makeKey, openai } = yield* startCalls(sqlite)
      const ids = (key: string) =>
        Effect.promise(async () => (await Array.fromAsync(openai(key).models.list())).map(({ id }) => id))
      assert.deepStrictEqual(yield* ids(yield* makeKey()), [
        "fast",
        "model-1",
        "model-2",
        "claude-x",
        "unpriced",
        "embedder",
      ])
      const limited = yield* makeKey({ models: { allow: ["model-2"] } })
      assert.deepStrictEqual(yield* ids(limited), ["fast", "model-2"])
      const refused = yield* failing(openai(limited).chat.completions.create(ask("Hi")))
      assert.instanceOf(refused, APIError)
      assert.strictEqual(refused.status, 422)
      const one = yield* Effect.promise(() => openai(limited).models.retrieve("model-2"))
      assert.strictEqual(one.owned_by, "provider2")
    }),
  )
})

describe("Anthropic's SDK", () => {
  it.live("gets whole and streamed answers with its key in x-api-key", () =>
    Effect.gen(function* () {
      const { anthropic, fake, makeKey, stats } = yield* startCalls(sqlite)
      fake.always({ text: "Hello there", usage: { input: 9, output: 2 } })
      const client = anthropic(yield* makeKey())
      const request = { ...ask("Hi", "claude-x"), max_tokens: 50 }
      const whole = yield* Effect.promise(() => client.messages.create(request))
      assert.deepInclude(whole.content[0], { type: "text", text: "Hello there" })
      const streamed = yield* Effect.promise(() => client.messages.stream(request).finalMessage())
      assert.deepInclude(streamed.content[0], { type: "text", text: "Hello there" })
      assert.strictEqual(fake.requests[0]?.asked?.key, "key-3")
      assert.deepInclude(yield* stats, { calls: 2, actual_micro_usd: 2 * costOf(9, 2) })
      const listed = yield* collected(client.models.list())
      assert.include(
        listed.map(({ id }) => id),
        "claude-x",
      )
    }),
  )

  it.live("throws its own error classes", () =>
    Effect.gen(function* () {
      const { anthropic, makeKey } = yield* startCalls(sqlite)
      const request = { ...ask("Hi", "nobody"), max_tokens: 50 }
      const stranger = yield* failing(anthropic("sgk_none").messages.create(request))
      assert.instanceOf(stranger, AnthropicAuthenticationError)
      const unknown = yield* failing(anthropic(yield* makeKey()).messages.create(request))
      assert.instanceOf(unknown, AnthropicNotFoundError)
      assert.deepInclude(Object(unknown.error), { type: "error" })
      assert.strictEqual(Object(Object(unknown.error).error).type, "not_found_error")
    }),
  )

  it.live("is notified of a break midway by the API's own event", () =>
    Effect.gen(function* () {
      const message = claudeMessage()
      const native = yield* startNative(() => ({
        body: namedEvents(
          { type: "message_start", message },
          { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
          { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hel" } },
        ),
        after: "cut",
      }))
      const { anthropic, makeKey } = yield* startCalls(sqlite, { PROVIDER3_BASE_URL: native.url })
      const client = anthropic(yield* makeKey())
      const broken = yield* failing(client.messages.stream({ ...ask("Hi", "claude-x"), max_tokens: 50 }).finalMessage())
      assert.instanceOf(broken, AnthropicAPIError)
      assert.include(broken.message, "in the middle of its answer")
    }),
  )
})

describe("a count of tokens", () => {
  const count = { messages: ask("x".repeat(3000)).messages, model: "claude-x" }

  it.live("is free, exact, and never from the cache", () =>
    Effect.gen(function* () {
      const native = yield* startNative(() => ({ body: JSON.stringify({ input_tokens: 42 }) }))
      const environment = { PROVIDER3_BASE_URL: native.url, CACHE_TTL: "1h" }
      const { anthropic, boss, gateway, makeKey, stats } = yield* startCalls(sqlite, environment)
      const key = yield* makeKey({ budgets: [{ per: "total", max_tokens: 100, max_cost_micro_usd: 100 }] })
      const { messages, beta } = anthropic(key)
      const usual = yield* Effect.promise(() => messages.countTokens(count))
      assert.strictEqual(usual.input_tokens, 42)
      const again = yield* Effect.promise(() => messages.countTokens(count))
      assert.strictEqual(again.input_tokens, 42)
      const early = yield* Effect.promise(() => beta.messages.countTokens(count))
      assert.strictEqual(early.input_tokens, 42)
      assert.deepStrictEqual(
        native.requests.map(({ path }) => path.replace(/\?.*$/, "")),
        Array.from({ length: 3 }, () => "/v1/messages/count_tokens"),
      )
      assert.deepInclude(yield* stats, { calls: 3, unpriced_calls: 0, actual_micro_usd: 0, input_tokens: 0 })
      const { json: keys } = yield* call(gateway, "GET", "/api/v1/keys", { token: boss })
      const path = `/api/v1/budgets?key=${Object(keys["items"])[0].id}`
      const { json: budgets } = yield* call(gateway, "GET", path, { token: boss })
      assert.deepInclude(Object(budgets["items"])[0], { spent_tokens: 0, spent_micro_usd: 0, left_tokens: 100 })
    }),
  )

  it.live("is refused with 404 where no target counts, and counts as a read", () =>
    Effect.gen(function* () {
      const { anthropic, makeKey } = yield* startCalls(sqlite, { RATE_LIMIT_EXECUTE: "1" })
      const client = anthropic(yield* makeKey())
      for (const model of ["model-1", "embedder"]) {
        const refused = yield* failing(client.messages.countTokens({ ...count, model }))
        assert.instanceOf(refused, AnthropicNotFoundError, model)
        assert.strictEqual(Object(Object(refused.error).error).type, "not_found_error")
        assert.include(refused.message, "No target of this model counts tokens.")
      }
    }),
  )
})

describe("the list of models", () => {
  it.live("has the member that Codex requires, but only for Codex", () =>
    Effect.gen(function* () {
      const { gateway, makeKey } = yield* startCalls(sqlite)
      const token = yield* makeKey()
      const listed = (query: string, headers = {}) =>
        Effect.map(call(gateway, "GET", `/v1/models${query}`, { token, headers }), ({ json }) => json)
      const plain = yield* listed("")
      assert.hasAllKeys(plain, ["object", "data"])
      assert.deepStrictEqual(yield* listed("?client_version=0.99.0"), { ...plain, models: [] })
      assert.deepStrictEqual(yield* listed("?client_version="), plain)
      const claude = { "anthropic-version": "2023-06-01" }
      assert.notProperty(yield* listed("?client_version=1", claude), "models")
    }),
  )

  it.live("is also readable model by model, under every name that calls may use", () =>
    Effect.gen(function* () {
      const { gateway, makeKey } = yield* startCalls(
        sqlite,
        {},
        {
          targets: [
            ...ROUTING.targets,
            { provider: "provider2", model: "vendor/model-3", max_context_tokens: 100_000 },
            { provider: "provider2", model: "vendor/secret", max_context_tokens: 100_000 },
          ],
          names: { ...ROUTING.names, hidden: { allow: ["vendor/secret"] } },
        },
      )
      const token = yield* makeKey({ models: { allow: ["model-*", "vendor/model-3"] } })
      const read = (path: string, headers = {}) => call(gateway, "GET", `/v1/models/${path}`, { token, headers })
      for (const [path, id, owned_by] of [
        ["model-1", "model-1", "provider1"],
        ["fast", "fast", "sealgate"],
        ["vendor%2Fmodel-3", "vendor/model-3", "provider2"],
        ["vendor/model-3", "vendor/model-3", "provider2"],
        ["model-3", "model-3", "provider2"],
        ["provider1/model-1", "provider1/model-1", "provider1"],
        ["provider1%2fmodel-1", "provider1/model-1", "provider1"],
        ["provider2/vendor/model-3", "provider2/vendor/model-3", "provider2"],
        ["provider2%2Fvendor%2Fmodel-3?beta=true", "provider2/vendor/model-3", "provider2"],
      ] as const) {
        const model = yield* read(path)
        assert.strictEqual(model.status, 200, path)
        assert.deepInclude(model.json, { id, owned_by, object: "model" }, path)
        const claude = yield* read(path, { "anthropic-version": "2023-06-01" })
        assert.deepInclude(claude.json, { id, type: "model" }, path)
      }
      for (const path of [
        "vendor/secret",
        "vendor%2Fsecret",
        "secret",
        "hidden",
        "claude-x",
        "provider9/model-1",
        "a/b",
      ]) {
        const refused = yield* read(path)
        assert.strictEqual(refused.status, 404, path)
        assert.deepInclude(Object(refused.json["error"]), { code: "model_not_found" }, path)
      }
      const elsewhere = yield* call(gateway, "GET", "/v1/modelsfoo", { token })
      assert.strictEqual(elsewhere.status, 404)
      assert.deepInclude(Object(elsewhere.json["error"]), { code: "not-found" })
    }),
  )
})

describe("a compressed request", () => {
  const LIMITED = { MAX_REQUEST_BYTES: "64KiB", MAX_BODY_MEMORY: "96KiB" }
  const long = (bytes: number) => JSON.stringify(ask("x".repeat(bytes - JSON.stringify(ask("")).length)))

  const startCoded = Effect.gen(function* () {
    const { fake, gateway, makeKey } = yield* startCalls(sqlite, LIMITED)
    const token = yield* makeKey()
    const send = (coding: string, body: Uint8Array<ArrayBuffer>) =>
      call(gateway, "POST", "/v1/chat/completions", { token, body, headers: { "content-encoding": coding } })
    return { fake, send }
  })

  it.live("is answered like any other, up to the limit of bodies", () =>
    Effect.gen(function* () {
      const { fake, send } = yield* startCoded
      const body = long(64 * 1024)
      for (const [coding, compressed] of [
        ["zstd", zstdCompressSync(body)],
        ["gzip", gzipSync(body)],
        ["Deflate", deflateSync(body)],
        ["br", brotliCompressSync(body)],
        ["identity", Buffer.from(body)],
      ] as const) {
        const answer = yield* send(coding, compressed)
        assert.strictEqual(answer.status, 200, `${coding} ${answer.text}`)
        assert.deepStrictEqual(fake.requests.at(-1)?.body, JSON.parse(body), coding)
      }
    }),
  )

  it.live("is refused if its content is longer than a body may be", () =>
    Effect.gen(function* () {
      const { fake, send } = yield* startCoded
      for (const bytes of [64 * 1024 + 1, 16 * 1024 * 1024]) {
        const refused = yield* send("zstd", zstdCompressSync(long(bytes)))
        assert.strictEqual(refused.status, 413, refused.text)
        assert.deepInclude(Object(refused.json["error"]), { code: "too-large" })
        assert.include(refused.text, "At most 65536 bytes are accepted, decompressed.")
      }
      assert.strictEqual(fake.requests.length, 0)
    }),
  )

  it.live("is refused if its coding is unknown or does not match its content", () =>
    Effect.gen(function* () {
      const { send } = yield* startCoded
      for (const coding of ["lzma", "gzip, zstd"]) {
        const unknown = yield* send(coding, Buffer.from(long(100)))
        assert.strictEqual(unknown.status, 415, coding)
        assert.include(unknown.text, `The coding ${coding} is not supported`)
        assert.strictEqual(unknown.headers.get("accept-encoding"), "zstd, gzip, deflate, br")
      }
      for (const coding of ["zstd", "gzip", "deflate", "br"]) {
        const garbage = yield* send(coding, Buffer.from(long(100)))
        assert.strictEqual(garbage.status, 400, coding)
        assert.include(garbage.text, `It is not in the coding that it names, ${coding}.`)
      }
    }),
  )

  it.live("takes as much of MAX_BODY_MEMORY as its content", () =>
    Effect.gen(function* () {
      const { fake, send } = yield* startCoded
      fake.script(fault.silence)
      const body = zstdCompressSync(long(64 * 1024))
      yield* Effect.forkScoped(send("zstd", body))
      yield* Effect.promise(() => fake.received(1))
      const refused = yield* send("zstd", body)
      assert.strictEqual(refused.status, 503)
      assert.include(refused.text, "The gateway holds as many requests as it can.")
    }),
  )
})

it.live("the database keeps no text of a call", () =>
  Effect.gen(function* () {
    const { fake, makeKey, openai, stats, stored } = yield* startCalls(sqlite)
    fake.script({ text: "canary-answer" })
    const client = openai(yield* makeKey())
    yield* Effect.promise(() => client.chat.completions.create(ask("canary-question")))
    assert.deepInclude(yield* stats, { calls: 1 })
    const files = [stored, `${stored}-wal`]
      .filter((file) => existsSync(file))
      .map((file) => readFileSync(file, "latin1"))
    assert.include(files.join(""), "model-1")
    assert.notInclude(files.join(""), "canary")
  }),
)

it.live("the AI SDK generates and streams texts with a token", () =>
  Effect.gen(function* () {
    const { fake, gateway } = yield* startCalls(sqlite)
    fake.always({ text: "Hello there" })
    const apiKey = yield* tokenFor("alice", { tenant: "acme", roles: ["run"] })
    const provider = createOpenAICompatible({ name: "sealgate", baseURL: `${gateway.url}/v1`, apiKey })
    const whole = yield* Effect.promise(() => generateText({ model: provider("model-1"), prompt: "Hi" }))
    assert.strictEqual(whole.text, "Hello there")
    const streamed = yield* collected(streamText({ model: provider("fast"), prompt: "Hi" }).textStream)
    assert.strictEqual(streamed.join(""), "Hello there")
  }),
)
