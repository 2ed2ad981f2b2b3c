/** Budgets of keys, kept by calls through OpenAI's and Anthropic's SDKs. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { APIError as AnthropicAPIError } from "@anthropic-ai/sdk"
import type { MessageParam } from "@anthropic-ai/sdk/resources"
import { APIError, RateLimitError } from "openai"
import type { ChatCompletionContentPart } from "openai/resources"
import { describeDatabases, sqlite } from "../support/databases.ts"
import { ask, costOf, startCalls, until } from "../support/calls.ts"
import { call } from "../support/gateway.ts"
import { failing } from "../support/promises.ts"

const total = (max_cost_micro_usd: number) => ({ budgets: [{ per: "total", max_cost_micro_usd }] })

describeDatabases("budgets of calls", (database) => {
  it.live("let exactly the affordable ones of 30 concurrent calls pass, whole or streamed", () =>
    Effect.gen(function* () {
      const { fake, makeKey, openai, stats } = yield* startCalls(database)
      fake.always({ text: "ok", usage: { input: 10, output: 50 } })
      const cost = costOf(10, 50)
      // Room for five calls, and for the worst case of the last of them.
      const client = openai(yield* makeKey(total(5 * cost + 1500)))
      const asked = Array.from({ length: 30 }, (_, i) =>
        Effect.result(
          Effect.tryPromise(async () => {
            const request = { ...ask("Hi"), max_tokens: 50 }
            if (i % 2 === 0) return void (await client.chat.completions.create(request))
            await Array.fromAsync(await client.chat.completions.create({ ...request, stream: true }))
          }),
        ),
      )
      // Calls that are refused beside others may fit after those have ended, so the rest is asked again.
      yield* Effect.all(asked, { concurrency: "unbounded" })
      yield* Effect.all(asked, { concurrency: 1 })
      assert.strictEqual(fake.requests.length, 5)
      assert.deepInclude(yield* stats, { calls: 5, actual_micro_usd: 5 * cost })
    }),
  )
})

it.live("a budget that never renews is refused with 402, and one that does with 429 and its renewal", () =>
  Effect.gen(function* () {
    const { anthropic, fake, makeKey, openai } = yield* startCalls(sqlite)
    const poor = openai(yield* makeKey(total(10)))
    const spent = yield* failing(poor.chat.completions.create(ask("Hi")))
    assert.instanceOf(spent, APIError)
    assert.deepInclude(spent, { status: 402, code: "insufficient_quota" })
    assert.include(spent.message, "10 micro-USD. It never renews.")
    const daily = openai(yield* makeKey({ budgets: [{ per: "day", max_tokens: 100 }] }))
    fake.script({ text: "ok", usage: { input: 10, output: 90 } })
    yield* Effect.promise(() => daily.chat.completions.create({ ...ask("Hi"), max_tokens: 50 }))
    const limited = yield* failing(daily.chat.completions.create({ ...ask("Hi"), max_tokens: 50 }))
    assert.instanceOf(limited, RateLimitError)
    assert.include(limited.message, "0 tokens. It renews at ")
    assert.isAbove(Number(limited.headers?.get("retry-after")), 0)
    const claude = yield* failing(
      anthropic(yield* makeKey(total(10))).messages.create({ ...ask("Hi", "claude-x"), max_tokens: 50 }),
    )
    assert.instanceOf(claude, AnthropicAPIError)
    assert.strictEqual(Object(Object(claude.error).error).type, "billing_error")
    assert.lengthOf(fake.requests, 1)
  }),
)

it.live("a call for which other calls' reservations leave no room may be repeated soon, and is not out of quota", () =>
  Effect.gen(function* () {
    const { anthropic, fake, makeKey, openai } = yield* startCalls(sqlite)
    const key = yield* makeKey({ budgets: [{ per: "month", max_tokens: 100 }] })
    const small = { ...ask("Hi"), max_tokens: 50 }
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => (release = resolve))
    yield* Effect.addFinalizer(() => Effect.sync(release))
    fake.script(() => held.then(() => ({ text: "ok", usage: { input: 10, output: 10 } })))
    const first = openai(key).chat.completions.create(small)
    yield* until(Effect.sync(() => fake.requests.length === 1))
    const refused = yield* failing(openai(key).chat.completions.create(small))
    assert.instanceOf(refused, RateLimitError)
    assert.deepInclude(refused, { status: 429, code: "rate_limit_exceeded" })
    assert.match(refused.headers.get("retry-after") ?? "", /^[1-3]$/)
    const claude = yield* failing(anthropic(key).messages.create({ ...small, model: "claude-x" }))
    assert.strictEqual(Object(Object(Object(claude).error).error).type, "rate_limit_error")
    release()
    yield* Effect.promise(() => first)
    fake.script({ text: "ok", usage: { input: 10, output: 10 } })
    yield* Effect.promise(() => openai(key).chat.completions.create(small))
  }),
)

it.live("a call without a limit gets the reserved one, and a call with a larger one gets the remaining part", () =>
  Effect.gen(function* () {
    const { anthropic, fake, makeKey, openai } = yield* startCalls(sqlite)
    const { chat } = openai(yield* makeKey(total(1_000_000)))
    const largeKey = yield* makeKey(total(10_000_000))
    yield* Effect.promise(() => chat.completions.create(ask("Hi")))
    assert.deepInclude(fake.requests[0]?.body, { max_tokens: 8192 })
    yield* Effect.promise(() => chat.completions.create({ ...ask("Hi"), max_tokens: 20 }))
    assert.deepStrictEqual(fake.requests[1]?.body, { ...ask("Hi"), max_tokens: 20 })
    const client = anthropic(yield* makeKey({ budgets: [{ per: "day", max_tokens: 100_000 }] }))
    yield* Effect.promise(() => client.messages.create({ ...ask("Hi", "claude-x"), max_tokens: 30 }))
    assert.deepInclude(fake.requests[2]?.body, { max_tokens: 30 })
    yield* Effect.promise(() => chat.completions.create(ask("Hi", "claude-x")))
    assert.deepInclude(fake.requests[3]?.body, { max_tokens: 8192 })
    // By its estimate, the prompt leaves less than the whole context of 100,000 tokens.
    yield* Effect.promise(() => openai(largeKey).chat.completions.create(ask("x".repeat(285_000))))
    const left = 100_000 - Math.ceil(JSON.stringify(ask("x".repeat(285_000))).length / 3)
    assert.deepInclude(fake.requests[4]?.body, { max_tokens: left })
  }),
)

it.live("a failed call is replaced only if the budget has room for another", () =>
  Effect.gen(function* () {
    const { boss, fake, gateway, makeKey, openai } = yield* startCalls(sqlite)
    fake.when({ model: "model-1" }).always({ text: "ok", delivery: { breaks: { after: 1, how: "garbage" } } })
    fake.when({ model: "model-2" }).always({ text: "well", usage: { input: 10, output: 5 } })
    const asked = { ...ask("Hi", "fast"), max_tokens: 50 }
    const worst = Math.ceil(JSON.stringify(asked).length / 3) + 50
    const answered = Effect.fnUntraced(function* (max_tokens: number) {
      const { chat } = openai(yield* makeKey({ budgets: [{ per: "total", max_tokens }] }))
      return yield* Effect.promise(() =>
        chat.completions.create(asked).then(
          ({ choices }) => choices[0]?.message.content,
          (error: unknown) => (error instanceof APIError ? error.code : error),
        ),
      )
    })
    assert.strictEqual(yield* answered(2 * worst - 1), "upstream-protocol")
    assert.lengthOf(fake.requests, 1)
    assert.strictEqual(yield* answered(2 * worst), "well")
    const keys = yield* call(gateway, "GET", "/api/v1/keys", { token: boss })
    const used = yield* Effect.forEach(keys.json["items"] as ReadonlyArray<{ id: string }>, ({ id }) =>
      Effect.map(call(gateway, "GET", `/api/v1/budgets?key=${id}`, { token: boss }), ({ json }) => json["items"]),
    )
    assert.deepStrictEqual(
      used.flat().map((use) => [Object(use).spent_tokens, Object(use).reserved_tokens]),
      [
        [worst + 15, 0],
        [worst, 0],
      ],
    )
  }),
)

it.live("every picture of a call counts, linked or inline, and nothing else counts as one", () =>
  Effect.gen(function* () {
    const { anthropic, fake, makeKey, openai } = yield* startCalls(sqlite)
    const key = yield* makeKey({ budgets: [{ per: "day", max_tokens: 12_000 }] })
    const { chat, responses } = openai(key)
    const { messages } = anthropic(key)
    const chatWith = (content: Array<ChatCompletionContentPart>) =>
      chat.completions.create({ model: "model-1", max_tokens: 50, messages: [{ role: "user", content }] })
    const claudeWith = (content: MessageParam["content"]) =>
      messages.create({ model: "claude-x", max_tokens: 50, messages: [{ role: "user", content }] })
    const ten = <const A>(part: A) => Array.from({ length: 10 }, () => part)
    const url = "https://example.com/cat.png"
    const long = "x".repeat(60_000)
    const source = { type: "base64", media_type: "image/png", data: long } as const
    const refused = [
      () => chatWith(ten({ type: "image_url", image_url: { url } })),
      () =>
        responses.create({
          model: "model-1",
          max_output_tokens: 50,
          input: [{ role: "user", content: ten({ type: "input_image", image_url: url, detail: "auto" }) }],
        }),
      () => claudeWith(ten({ type: "image", source: { type: "url", url } })),
      () =>
        claudeWith([
          { type: "tool_result", tool_use_id: "t", content: ten({ type: "image", source: { type: "url", url } }) },
        ]),
      () =>
        openai(key).post("/chat/completions", {
          body: {
            ...ask("Hi"),
            messages: [{ role: "user", type: "image", content: ten({ type: "image_url", image_url: { url } }) }],
          },
        }),
      () => chatWith([{ type: "text", text: `data:image/png;base64,${long}` }]),
      () => claudeWith([{ type: "tool_use", id: "t", name: "f", input: { content: { type: "image", source } } }]),
    ]
    for (const request of refused) {
      const error = yield* failing(request())
      assert.deepInclude(Object(error), { status: 402 }, String(request))
    }
    // Counted by bytes alone, none of these would fit either.
    yield* Effect.promise(() => chatWith([{ type: "image_url", image_url: { url: `data:image/png;base64,${long}` } }]))
    yield* Effect.promise(() => claudeWith([{ type: "image", source }]))
    assert.lengthOf(fake.requests, 2)
  }),
)

/** Tools that a provider runs. */
const HOSTED = [
  { type: "shell" },
  { type: "shell", environment: { type: "container_auto" } },
  { type: "tool_search" },
  { type: "openrouter:web_search" },
  { type: "namespace", name: "n", description: "", tools: [{ type: "mcp" }] },
  { google_search: {} },
]

const UNBOUNDED = [
  { inference_geo: "us" },
  { context_management: { edits: [{ type: "compact_20260112" }] } },
  { fallbacks: [{ model: "claude-dear" }] },
  { tools: [{ type: "advisor_20260301", name: "advisor", model: "claude-dear" }] },
  { tools: [{ type: "web_search_20260318", name: "web_search" }] },
]

/** Members that coding agents send. */
const AGENTS = {
  responses: {
    instructions: "i",
    input: [
      { type: "message", role: "user", content: [{ type: "input_text", text: "Hi" }] },
      { role: "user", content: "Hi" },
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "AAAA" },
      { type: "custom_tool_call", call_id: "c", name: "apply_patch", input: "x" },
      { type: "custom_tool_call_output", call_id: "c", output: "y" },
    ],
    tools: [
      { type: "function", name: "f", parameters: {}, strict: false },
      { type: "custom", name: "apply_patch", format: { type: "text" } },
      { type: "local_shell" },
      { type: "shell", environment: { type: "local" } },
      { type: "tool_search", execution: "client" },
      { type: "namespace", name: "n", description: "", tools: [{ type: "function", name: "g", parameters: {} }] },
    ],
    tool_choice: "auto",
    parallel_tool_calls: true,
    reasoning: { effort: "high", summary: "auto" },
    store: false,
    include: ["reasoning.encrypted_content"],
    prompt_cache_key: "k",
    text: { verbosity: "low" },
    client_metadata: { a: "b" },
  },
  messages: {
    system: [{ type: "text", text: "s", cache_control: { type: "ephemeral" } }],
    tools: [
      { name: "Bash", input_schema: { type: "object" } },
      { type: "custom", name: "Read", input_schema: { type: "object" } },
      // The fake wants a schema.
      { type: "bash_20250124", name: "bash", input_schema: { type: "object" } },
      { type: "text_editor_20250728", name: "str_replace_based_edit_tool", input_schema: { type: "object" } },
    ],
    metadata: { user_id: "u" },
    thinking: { type: "adaptive" },
    context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
    output_config: { effort: "high" },
    temperature: 1,
  },
}

it.live("a key with a budget may send what coding agents send", () =>
  Effect.gen(function* () {
    const { anthropic, fake, makeKey, openai } = yield* startCalls(sqlite)
    const key = yield* makeKey(total(1_000_000))
    const request = { ...ask("Hi", "claude-x"), max_tokens: 50, ...AGENTS.messages }
    yield* Effect.promise(() => anthropic(key).post("/v1/messages", { body: request }))
    assert.deepInclude(fake.requests[0]?.body, AGENTS.messages)
    // The fake does not speak it.
    const asked = openai(key).post("/responses", { body: { model: "model-1", ...AGENTS.responses } })
    assert.deepInclude(Object(yield* failing(asked)), { status: 404 })
  }),
)

it.live("a key limited to models may not name others in other members", () =>
  Effect.gen(function* () {
    const { anthropic, fake, makeKey, openai } = yield* startCalls(sqlite)
    const key = yield* makeKey({ models: { allow: ["model-1", "claude-x"] } })
    for (const members of [
      { models: ["dear"] },
      { preset: "dear" },
      { fallbacks: [{ model: "dear" }] },
      { tools: [{ type: "advisor_20260301", name: "advisor", model: "dear" }] },
    ]) {
      const [path] = Object.keys(members)
      for (const refused of [
        yield* failing(openai(key).post("/chat/completions", { body: { ...ask("Hi"), ...members } })),
        yield* failing(
          anthropic(key).post("/v1/messages", { body: { ...ask("Hi", "claude-x"), max_tokens: 50, ...members } }),
        ),
      ]) {
        assert.deepInclude(Object(refused), { status: 422 })
        assert.include(Object(refused).message, `${path === "tools" ? "tools.0.model" : path}: it names a model`)
      }
    }
    assert.lengthOf(fake.requests, 0)
    const free = openai(yield* makeKey({}))
    yield* Effect.promise(() => free.post("/chat/completions", { body: { ...ask("Hi"), models: ["dear"] } }))
    assert.deepInclude(fake.requests[0]?.body, { models: ["dear"] })
  }),
)

it.live("a key with a money budget reaches no target without a price, and sends nothing of unknown cost", () =>
  Effect.gen(function* () {
    const { anthropic, fake, makeKey, openai } = yield* startCalls(sqlite)
    const key = yield* makeKey(total(1_000_000))
    const { chat, responses } = openai(key)
    const unpriced = yield* failing(chat.completions.create(ask("Hi", "unpriced")))
    assert.deepInclude(Object(unpriced), { status: 422, code: "no-target" })
    const requests = [
      () => responses.create({ model: "model-1", input: "Hi", previous_response_id: "resp_1" }),
      () => responses.create({ model: "model-1", input: "Hi", tools: [{ type: "web_search" }] }),
      () =>
        responses.create({
          model: "model-1",
          input: [{ role: "user", content: [{ type: "input_file", file_id: "file-1" }] }],
        }),
      () =>
        openai(key).post("/chat/completions", {
          body: {
            ...ask("Hi"),
            messages: [{ role: "user", content: [{ type: "video_url", video_url: { url: "https://example.com" } }] }],
          },
        }),
      () => responses.create({ model: "model-1", input: [{ type: "item_reference", id: "rs_1" }] }),
      () => responses.create({ model: "model-1", input: "Hi", reasoning: { mode: "pro" } }),
      () =>
        openai(key).post("/responses", {
          body: {
            model: "model-1",
            input: [{ type: "additional_tools", role: "developer", tools: [{ type: "web_search" }] }],
          },
        }),
      ...HOSTED.map(
        (tool) => () => openai(key).post("/responses", { body: { model: "model-1", input: "Hi", tools: [tool] } }),
      ),
      ...["models", "plugins", "search_parameters", "provider", "prediction", "a_member_of_the_future"].map(
        (name) => () => openai(key).post("/chat/completions", { body: { ...ask("Hi"), [name]: ["x"] } }),
      ),
      ...UNBOUNDED.map(
        (members) => () =>
          anthropic(key).post("/v1/messages", { body: { ...ask("Hi", "claude-x"), max_tokens: 50, ...members } }),
      ),
      () => openai(key).post("/embeddings", { body: { model: "model-1", input: [{ image: "https://example.com" }] } }),
      () => chat.completions.create({ ...ask("Hi"), service_tier: "priority" }),
      () => chat.completions.create({ ...ask("Hi"), n: "5" as unknown as number }),
      () =>
        anthropic(key).messages.create({
          model: "claude-x",
          max_tokens: 50,
          messages: [
            {
              role: "user",
              content: [{ type: "document", source: { type: "url", url: "https://example.com/x.pdf" } }],
            },
          ],
        }),
    ]
    for (const request of requests) {
      const refused = yield* failing(request())
      assert.deepInclude(Object(refused), { status: 422 })
      assert.match(Object(refused).message, /its cost is unknown beforehand/)
    }
    assert.lengthOf(fake.requests, 0)
  }),
)

it.live(
  "a stream that breaks or whose caller hangs up is charged at most what was reserved, and leaves no reservation open",
  () =>
    Effect.gen(function* () {
      const { fake, makeKey, openai } = yield* startCalls(sqlite)
      const request = { ...ask("Hi"), max_tokens: 50 }
      for (const how of ["cut", "silence"] as const) {
        const { chat } = openai(yield* makeKey(total(2 * costOf(30, 50))))
        fake.script({ text: ["one", "two"], usage: null, delivery: { breaks: { after: 1, how } } })
        yield* Effect.ignore(
          Effect.tryPromise(async () => {
            for await (const _ of await chat.completions.create({ ...request, stream: true }))
              if (how === "silence") break
          }),
        )
        fake.always({ text: "ok", usage: { input: 1, output: 1 } })
        // The budget has room for two calls, so another one fits once the broken one was settled.
        const fits = Effect.isSuccess(Effect.tryPromise(() => chat.completions.create(request)))
        yield* until(fits)
      }
    }),
)
