/** The request for each vendor, member by member. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { ChatInput, type ChatRequest, normalize } from "../../../../src/domain/chat/chat.ts"
import { canned, events, json, MINIMAL, type CannedOptions, type Vendor } from "./support/Canned.ts"
import { eventFixture, jsonFixture } from "./support/fixtures.ts"

const hi: ChatRequest = { messages: [{ role: "user", content: "hi" }] }

/** Returns the request to `vendor` for a whole answer. */
const sentFor = Effect.fnUntraced(function* (vendor: Vendor, request: ChatRequest, options: CannedOptions = {}) {
  const { provider, sent } = yield* canned(vendor, () => json(MINIMAL[vendor]), options)
  yield* provider.complete(request)
  const [only] = sent
  assert.isDefined(only)
  return only
})

/** Returns the request to `vendor` for a streamed answer. */
const sentForStream = Effect.fnUntraced(function* (vendor: Vendor, request: ChatRequest) {
  const { provider, sent } = yield* canned(vendor, () => events(eventFixture(`${vendor}-stream`)))
  yield* Stream.runDrain(provider.stream(request))
  const [only] = sent
  assert.isDefined(only)
  return only
})

/** The members of a body, leaving out what every request has. */
const extras = (body: unknown): object => {
  const { model: _, messages: _messages, max_tokens: _max, contents: _contents, ...rest } = Object(body)
  return rest
}

const tool = (name: string, members: object = {}) =>
  ({ type: "function", function: { name, parameters: { type: "object", properties: {} }, ...members } }) as const

const choosing = (tool_choice: NonNullable<ChatRequest["tool_choice"]>) => ({ tools: [tool("f")], tool_choice })

const answering = (json_schema: { readonly name: string; readonly [member: string]: unknown }) =>
  ({ response_format: { type: "json_schema", json_schema } }) as const

it.effect("openai gets functions and function_call untouched, and its function_call comes back", () =>
  Effect.gen(function* () {
    const call = { name: "f", arguments: "{}" }
    const body = {
      messages: [hi.messages[0], { role: "assistant", content: null, function_call: call }],
      functions: [{ name: "f" }],
      function_call: { name: "f" },
    } as unknown as ChatRequest
    const { provider, sent } = yield* canned("openai", () =>
      json({ choices: [{ message: { content: null, function_call: call }, finish_reason: "function_call" }] }),
    )
    const { choices } = yield* provider.complete(body)
    assert.deepStrictEqual(sent[0]?.body, { ...body, model: "gpt-default" })
    assert.deepStrictEqual(choices[0]?.message["function_call"], call)
    assert.strictEqual(choices[0]?.finish_reason, "function_call")
  }),
)

describe("the URL of a request", () => {
  const places: ReadonlyArray<readonly [vendor: Vendor, base: string, url: string]> = [
    ["openai", "https://api.example/v1", "https://api.example/v1/chat/completions"],
    ["openai", "https://api.example/v1/", "https://api.example/v1/chat/completions"],
    ["anthropic", "https://api.example", "https://api.example/v1/messages"],
    ["anthropic", "https://api.example/", "https://api.example/v1/messages"],
    ["anthropic", "https://api.example/proxy//", "https://api.example/proxy/v1/messages"],
    ["gemini", "https://api.example/", "https://api.example/v1beta/models/gemini-3-default:generateContent"],
  ]
  for (const [vendor, baseUrl, url] of places) {
    it.effect(`${vendor} at ${baseUrl}`, () =>
      Effect.map(sentFor(vendor, hi, { baseUrl }), (sent) => {
        assert.strictEqual(sent.url, url)
      }),
    )
  }

  it.effect("the key and the version are sent in headers", () =>
    Effect.gen(function* () {
      const openai = yield* sentFor("openai", hi)
      assert.strictEqual(openai.headers["authorization"], "Bearer the-secret-key")
      const anthropic = yield* sentFor("anthropic", hi)
      assert.strictEqual(anthropic.headers["x-api-key"], "the-secret-key")
      assert.strictEqual(anthropic.headers["anthropic-version"], "2023-06-01")
      const gemini = yield* sentFor("gemini", hi)
      assert.strictEqual(gemini.headers["x-goog-api-key"], "the-secret-key")
      for (const sent of [openai, anthropic, gemini]) {
        assert.notInclude(sent.url, "secret")
        assert.strictEqual(sent.headers["content-type"], "application/json")
        assert.strictEqual(sent.headers["accept"], "application/json")
      }
    }),
  )

  it.effect("the request's model is sent, or else the default", () =>
    Effect.gen(function* () {
      assert.include(yield* sentFor("openai", hi).pipe(Effect.map((sent) => sent.body)), { model: "gpt-default" })
      assert.include((yield* sentFor("openai", { ...hi, model: "m" })).body, { model: "m" })
      assert.include((yield* sentFor("anthropic", { ...hi, model: "m" })).body, { model: "m" })
      const gemini = yield* sentFor("gemini", { ...hi, model: "tunedModels/m-1" })
      assert.strictEqual(gemini.url, "https://gemini.example/v1beta/tunedModels/m-1:generateContent")
    }),
  )

  it.effect("a stream is requested in each vendor's way", () =>
    Effect.gen(function* () {
      const openai = yield* sentForStream("openai", { ...hi, stream_options: { include_obfuscation: false } })
      assert.deepInclude(openai.body, {
        stream: true,
        stream_options: { include_obfuscation: false, include_usage: true },
      })
      assert.strictEqual(openai.headers["accept"], "text/event-stream")
      assert.include((yield* sentForStream("anthropic", hi)).body, { stream: true })
      const gemini = yield* sentForStream("gemini", hi)
      assert.strictEqual(
        gemini.url,
        "https://gemini.example/v1beta/models/gemini-3-default:streamGenerateContent?alt=sse",
      )
    }),
  )

  it.effect("the method decides whether to stream, not the request", () =>
    Effect.gen(function* () {
      const whole = yield* sentFor("openai", { ...hi, stream: true, stream_options: { include_usage: true } })
      assert.deepStrictEqual(whole.body, { ...hi, model: "gpt-default" })
      assert.include((yield* sentForStream("openai", { ...hi, stream: false })).body, { stream: true })
    }),
  )
})

describe("openai", () => {
  it.effect("all members are passed on, unknown ones included", () =>
    Effect.gen(function* () {
      const request: ChatRequest = {
        messages: [
          { role: "developer", content: [{ type: "text", text: "be kind", unknown: 1 }] },
          {
            role: "user",
            name: "ann",
            content: [
              { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
              { type: "image_url", image_url: { url: "data:image/png;base64,AA==", detail: "low", more: true } },
            ],
          },
          { role: "assistant", content: "ok", extra_content: { google: { thought_signature: "theirs" } } },
        ],
        tools: [{ ...tool("f", { strict: true }), unknown: [1] }],
        tool_choice: { type: "function", function: { name: "f" } },
        parallel_tool_calls: false,
        response_format: { type: "json_schema", json_schema: { name: "s", schema: { type: "object" }, strict: true } },
        logit_bias: { "50256": -100 },
        n: 2,
        seed: 7,
        some_new_member: { deep: [null, 1] },
      }
      const { body } = yield* sentFor("openai", request)
      assert.deepStrictEqual(body, { ...request, model: "gpt-default" })
    }),
  )

  it.effect("state of other providers in the conversation is removed", () =>
    Effect.gen(function* () {
      const { provider: gemini } = yield* canned("gemini", () => json(jsonFixture("gemini-tools")))
      const { provider: anthropic } = yield* canned("anthropic", () => json(jsonFixture("anthropic-tools")))
      for (const provider of [gemini, anthropic]) {
        const answer = (yield* provider.complete(hi)).choices[0]?.message
        assert.isDefined(answer)
        const { body } = yield* sentFor("openai", { messages: [...hi.messages, answer] })
        assert.notInclude(JSON.stringify(body), "extra_content")
        assert.include(JSON.stringify(body), '"name":"get_weather"')
      }
    }),
  )
})

describe("a member that is null", () => {
  const decode = Schema.decodeUnknownSync(ChatInput)
  const messages = hi.messages
  const declaring = (members: object) => ({
    messages,
    tools: [{ type: "function", function: { name: "f", ...members } }],
  })
  const formatted = (members: object) => ({
    messages,
    response_format: { type: "json_schema", json_schema: { name: "s", schema: {}, ...members } },
  })
  const rows: ReadonlyArray<readonly [member: string, requestWith: (members: object) => object]> = [
    ["tools", (members) => ({ messages, ...members })],
    ["tool_choice", (members) => ({ ...declaring({}), ...members })],
    ["parallel_tool_calls", (members) => ({ ...declaring({}), ...members })],
    ["response_format", (members) => ({ messages, ...members })],
    ["tool_calls", (members) => ({ messages: [...messages, { role: "assistant", content: "a", ...members }] })],
    ["description", declaring],
    ["parameters", declaring],
    ["description", formatted],
    [
      "detail",
      (members) => ({
        messages: [
          { role: "user", content: [{ type: "image_url", image_url: { url: "https://x.example/a", ...members } }] },
        ],
      }),
    ],
  ]
  for (const vendor of ["anthropic", "gemini"] as const) {
    for (const [member, requestWith] of rows) {
      it.effect(`counts as absent for ${vendor}: ${member} in ${JSON.stringify(requestWith({}))}`, () =>
        Effect.gen(function* () {
          const sent = (members: object) => sentFor(vendor, normalize(decode(requestWith(members))))
          assert.deepStrictEqual((yield* sent({ [member]: null })).body, (yield* sent({})).body)
        }),
      )
    }
  }

  it.effect("is left out for openai where it refuses null: tool_calls", () =>
    Effect.gen(function* () {
      const sent = (members: object) =>
        sentFor("openai", { messages: [...messages, { role: "assistant", content: "a", ...members }] })
      assert.deepStrictEqual((yield* sent({ tool_calls: null })).body, (yield* sent({})).body)
    }),
  )
})

describe("anthropic", () => {
  const declared = (name: string) => ({ name, input_schema: { type: "object", properties: {} } })
  const schema = (schema: object) => ({ output_config: { format: { type: "json_schema", schema } } })
  const rows: ReadonlyArray<readonly [name: string, request: Partial<ChatRequest>, extras: object]> = [
    ["nothing more than asked", {}, {}],
    [
      "sampling and stops",
      { temperature: 0.5, top_p: 0.9, top_k: 40, stop: "END" },
      { temperature: 0.5, top_p: 0.9, top_k: 40, stop_sequences: ["END"] },
    ],
    ["several stops", { stop: ["a", "b"] }, { stop_sequences: ["a", "b"] }],
    ["the user", { user: "u-1" }, { metadata: { user_id: "u-1" } }],
    ["absent is absent", { temperature: null, stop: null, n: null, seed: null }, {}],
    [
      "a schema for the answer",
      answering({ name: "s", description: "a place", schema: { type: "object", additionalProperties: false } }),
      schema({ description: "a place", type: "object", additionalProperties: false }),
    ],
    ["plain text", { response_format: { type: "text" } }, {}],
    ["effort", { reasoning_effort: "minimal" }, { output_config: { effort: "low" } }],
    ["no thinking", { reasoning_effort: "none" }, { thinking: { type: "disabled" } }],
    [
      "tools",
      { tools: [tool("f", { description: "does f", strict: true }), { type: "function", function: { name: "g" } }] },
      { tools: [{ ...declared("f"), description: "does f", strict: true }, declared("g")] },
    ],
    ["no tool now", choosing("none"), { tools: [declared("f")], tool_choice: { type: "none" } }],
    [
      "some tool, one at a time",
      { ...choosing("required"), parallel_tool_calls: false },
      { tools: [declared("f")], tool_choice: { type: "any", disable_parallel_tool_use: true } },
    ],
    [
      "at most one at a time",
      { tools: [tool("f")], parallel_tool_calls: false },
      { tools: [declared("f")], tool_choice: { type: "auto", disable_parallel_tool_use: true } },
    ],
    [
      "a certain tool",
      { ...choosing({ type: "function", function: { name: "f" } }), parallel_tool_calls: true },
      { tools: [declared("f")], tool_choice: { type: "tool", name: "f" } },
    ],
    ["cache control", { cache_control: { type: "ephemeral" } }, { cache_control: { type: "ephemeral" } }],
  ]
  for (const [name, request, wanted] of rows) {
    it.effect(name, () =>
      Effect.map(sentFor("anthropic", { ...hi, ...request }), ({ body }) =>
        assert.deepStrictEqual(extras(body), wanted),
      ),
    )
  }

  it.effect("a token limit is always sent", () =>
    Effect.gen(function* () {
      assert.include((yield* sentFor("anthropic", hi)).body, { max_tokens: 32_000 })
      assert.include((yield* sentFor("anthropic", { ...hi, max_tokens: 5 })).body, { max_tokens: 5 })
      const both = { ...hi, max_tokens: 5, max_completion_tokens: 6 }
      assert.include((yield* sentFor("anthropic", both)).body, { max_tokens: 6 })
    }),
  )

  it.effect("consecutive messages become one turn, and empty ones none", () =>
    Effect.gen(function* () {
      const { body } = yield* sentFor("anthropic", {
        messages: [
          { role: "user", content: "a" },
          { role: "assistant", content: "" },
          { role: "user", content: [{ type: "text", text: "b", cache_control: { type: "ephemeral", ttl: "1h" } }] },
          { role: "assistant", content: null, refusal: "no" },
          { role: "assistant", content: [{ type: "refusal", refusal: "never" }] },
          { role: "system", content: "late" },
          { role: "user", content: "c" },
        ],
      })
      assert.deepInclude(body, {
        system: [{ type: "text", text: "late" }],
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "a" },
              { type: "text", text: "b", cache_control: { type: "ephemeral", ttl: "1h" } },
            ],
          },
          {
            role: "assistant",
            content: [
              { type: "text", text: "no" },
              { type: "text", text: "never" },
            ],
          },
          { role: "user", content: [{ type: "text", text: "c" }] },
        ],
      })
    }),
  )

  it.effect("a message's cache control stands on its last block, unless that has its own", () =>
    Effect.gen(function* () {
      const cache_control = { type: "ephemeral" } as const
      const hour = { type: "ephemeral", ttl: "1h" } as const
      const part = (text: string, members: object = {}) => ({ type: "text", text, ...members }) as const
      const called = { id: "c", type: "function", function: { name: "f", arguments: "{}" } } as const
      const { body } = yield* sentFor("anthropic", {
        messages: [
          { role: "system", content: [part("a"), part("b")], cache_control },
          { role: "developer", content: [part("c", { cache_control: hour })], cache_control },
          { role: "user", content: [part("d"), part("e"), part(" ")], cache_control: hour },
          { role: "assistant", content: "f", tool_calls: [called], cache_control },
          { role: "tool", tool_call_id: "c", name: "f", content: "g", cache_control },
          { role: "assistant", content: "h", cache_control },
          { role: "user", content: " ", cache_control },
        ],
      })
      assert.deepInclude(body, {
        system: [part("a"), part("b", { cache_control }), part("c", { cache_control: hour })],
        messages: [
          { role: "user", content: [part("d"), part("e", { cache_control: hour })] },
          {
            role: "assistant",
            content: [part("f"), { type: "tool_use", id: "c", name: "f", input: {}, cache_control }],
          },
          { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: [part("g")], cache_control }] },
          { role: "assistant", content: [part("h", { cache_control })] },
        ],
      })
    }),
  )

  it.effect("texts of nothing but whitespace are left out, which the API refuses", () =>
    Effect.gen(function* () {
      const { body } = yield* sentFor("anthropic", {
        messages: [
          { role: "system", content: " " },
          {
            role: "user",
            content: [
              { type: "text", text: "\t" },
              { type: "text", text: " a\n" },
            ],
          },
          {
            role: "assistant",
            content: "\n\n",
            refusal: " ",
            tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }],
          },
          { role: "tool", tool_call_id: "c", content: "\n" },
        ],
      })
      assert.notProperty(body, "system")
      assert.deepStrictEqual(Object(body).messages, [
        { role: "user", content: [{ type: "text", text: " a\n" }] },
        { role: "assistant", content: [{ type: "tool_use", id: "c", name: "f", input: {} }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: [] }] },
      ])
    }),
  )

  it.effect("the end user is named by an opaque id only", () =>
    Effect.gen(function* () {
      const userOf = (request: Partial<ChatRequest>) =>
        Effect.map(sentFor("anthropic", { ...hi, ...request }), ({ body }) => Object(body).metadata?.user_id)
      const id = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
      for (const user of ["ann@example.com", "Ann <ann@x>", "+49 (170) 123-4567", "004917012345", "u".repeat(257)]) {
        assert.isUndefined(yield* userOf({ user }), user)
        assert.isUndefined(yield* userOf({ safety_identifier: user }), user)
        assert.strictEqual(yield* userOf({ safety_identifier: user, user: id }), id)
      }
      assert.strictEqual(yield* userOf({ user: id }), id)
      assert.strictEqual(yield* userOf({ user: "user-1234567" }), "user-1234567")
    }),
  )

  it.effect("ids of other providers' calls are made to fit the API's pattern and stay together", () =>
    Effect.gen(function* () {
      const { body } = yield* sentFor("anthropic", {
        messages: [
          ...hi.messages,
          {
            role: "assistant",
            tool_calls: [
              { id: "functions.f:0", type: "function", function: { name: "f", arguments: "" } },
              { id: "functions.f:1", type: "function", function: { name: "f", arguments: "{}" } },
            ],
          },
          { role: "tool", tool_call_id: "functions.f:1", content: "one" },
          { role: "tool", tool_call_id: "functions.f:0", content: "zero" },
        ],
      })
      const [, calls, results] = Object(body).messages
      const [first, second] = calls.content.map((block: { id: string }) => block.id)
      assert.match(first, /^[a-zA-Z0-9_-]+$/)
      assert.notStrictEqual(first, second)
      assert.deepStrictEqual(
        results.content.map((block: { tool_use_id: string }) => block.tool_use_id),
        [second, first],
      )
      assert.deepStrictEqual(Object(body).tools, [declared("f")])
      assert.deepStrictEqual(Object(body).tool_choice, { type: "none" }, "calls of the past need no call now")
    }),
  )

  it.effect("thinking is sent back in its place", () =>
    Effect.gen(function* () {
      const { provider } = yield* canned("anthropic", () => json(jsonFixture("anthropic-tools")))
      const answer = (yield* provider.complete(hi)).choices[0]?.message
      assert.isDefined(answer)
      const { body } = yield* sentFor("anthropic", { messages: [...hi.messages, answer] })
      assert.deepStrictEqual(Object(body).messages[1].content, [
        { type: "thinking", thinking: "", signature: "EqQBCgIYAhIM1gbcDa9GJwZA2b3h" },
        { type: "text", text: "I'll check both cities." },
        {
          type: "tool_use",
          id: "toolu_01A09q90qw90lq917835lq9",
          name: "get_weather",
          input: { location: "San Francisco, CA", unit: "celsius" },
        },
        { type: "redacted_thinking", data: "EmwKAhgBEgy3va3pzix" },
        { type: "tool_use", id: "toolu_01A09q90qw90lq917835lq8", name: "get_time", input: {} },
      ])
    }),
  )
})

describe("gemini", () => {
  const rows: ReadonlyArray<readonly [name: string, request: Partial<ChatRequest>, extras: object]> = [
    ["nothing more than asked", {}, { generationConfig: {} }],
    [
      "generation",
      {
        n: 2,
        max_tokens: 5,
        stop: ["a"],
        temperature: 0,
        top_p: 0.9,
        top_k: 40,
        seed: 7,
        presence_penalty: 0.5,
        frequency_penalty: -0.5,
        reasoning_effort: "low",
      },
      {
        generationConfig: {
          candidateCount: 2,
          maxOutputTokens: 5,
          stopSequences: ["a"],
          temperature: 0,
          topP: 0.9,
          topK: 40,
          seed: 7,
          presencePenalty: 0.5,
          frequencyPenalty: -0.5,
          thinkingConfig: { thinkingLevel: "LOW" },
        },
      },
    ],
    [
      "JSON",
      { response_format: { type: "json_object" } },
      { generationConfig: { responseMimeType: "application/json" } },
    ],
    [
      "a schema for the answer",
      answering({ name: "s", schema: { type: "array" } }),
      { generationConfig: { responseMimeType: "application/json", responseJsonSchema: { type: "array" } } },
    ],
    [
      "tools",
      { tools: [tool("f", { description: "does f" }), { type: "function", function: { name: "g" } }] },
      {
        generationConfig: {},
        tools: [
          {
            functionDeclarations: [
              { name: "f", description: "does f", parametersJsonSchema: { type: "object", properties: {} } },
              { name: "g" },
            ],
          },
        ],
        toolConfig: { functionCallingConfig: { mode: "AUTO" } },
      },
    ],
  ]
  for (const [name, request, wanted] of rows) {
    it.effect(name, () =>
      Effect.map(sentFor("gemini", { ...hi, ...request }), ({ body }) => assert.deepStrictEqual(extras(body), wanted)),
    )
  }

  it.effect("hints of other formats in messages are left out", () =>
    Effect.gen(function* () {
      const called = { id: "c", type: "function", function: { name: "f", arguments: "{}" } } as const
      const withHints = (hints: object, result: object) =>
        sentFor("gemini", {
          messages: [
            { role: "system", content: "a", ...hints },
            { role: "user", content: "b", ...hints },
            { role: "assistant", content: "c", tool_calls: [called], ...hints },
            { role: "tool", tool_call_id: "c", content: "d", ...hints, ...result },
          ],
        })
      const { body } = yield* withHints({ cache_control: { type: "ephemeral" } }, { name: "f" })
      assert.deepStrictEqual(body, (yield* withHints({}, {})).body)
    }),
  )

  const thinking: ReadonlyArray<readonly [effort: string, model: string, config: object | undefined]> = [
    ["minimal", "gemini-3-flash-preview", { thinkingLevel: "MINIMAL" }],
    ["minimal", "models/gemini-3.5-flash-lite", { thinkingLevel: "MINIMAL" }],
    ["minimal", "gemini-3.6-flash", { thinkingLevel: "MINIMAL" }],
    ["minimal", "gemini-3.8-flash", { thinkingLevel: "LOW" }],
    ["minimal", "gemini-3.1-pro-preview", { thinkingLevel: "LOW" }],
    ["minimal", "gemini-flash-latest", { thinkingLevel: "LOW" }],
    ["medium", "gemini-3.8-flash", { thinkingLevel: "MEDIUM" }],
    ["max", "tunedModels/m-1", { thinkingLevel: "HIGH" }],
    ["minimal", "gemini-2.5-pro", { thinkingBudget: 1024 }],
    ["low", "gemini-2.5-flash-lite", { thinkingBudget: 1024 }],
    ["medium", "models/gemini-2.5-flash", { thinkingBudget: 8192 }],
    ["xhigh", "gemini-2.5-pro", { thinkingBudget: 24_576 }],
    ["none", "gemini-2.5-flash", { thinkingBudget: 0 }],
    ["none", "gemini-2.5-flash-lite", { thinkingBudget: 0 }],
    ["none", "gemini-2.0-flash", undefined],
  ]
  for (const [reasoning_effort, model, config] of thinking) {
    it.effect(`effort ${reasoning_effort} of ${model}`, () =>
      Effect.map(sentFor("gemini", { ...hi, model, reasoning_effort }), ({ body }) =>
        assert.deepStrictEqual(Object(body).generationConfig.thinkingConfig, config),
      ),
    )
  }

  const choices: ReadonlyArray<readonly [choice: ChatRequest["tool_choice"], config: object]> = [
    ["none", { mode: "NONE" }],
    ["required", { mode: "ANY" }],
    [
      { type: "function", function: { name: "g" } },
      { mode: "ANY", allowedFunctionNames: ["g"] },
    ],
    ["auto", { mode: "VALIDATED" }],
  ]
  for (const [tool_choice, config] of choices) {
    it.effect(`tool choice ${JSON.stringify(tool_choice)}, a tool being strict`, () =>
      Effect.gen(function* () {
        const tools = [tool("f", { strict: true }), tool("g")]
        const { body } = yield* sentFor("gemini", {
          ...hi,
          tools,
          ...(tool_choice === undefined ? {} : { tool_choice }),
        })
        assert.deepStrictEqual(Object(body).toolConfig, { functionCallingConfig: config })
      }),
    )
  }

  it.effect(
    "a conversation of its own: signatures come back, made-up ids do not, results in the order of the calls",
    () =>
      Effect.gen(function* () {
        const { provider } = yield* canned("gemini", () => json(jsonFixture("gemini-tools")))
        const answer = (yield* provider.complete(hi)).choices[0]?.message
        assert.isDefined(answer)
        const [paris, london, time] = answer.tool_calls ?? []
        const { body } = yield* sentFor("gemini", {
          messages: [
            ...hi.messages,
            answer,
            { role: "tool", tool_call_id: time?.id ?? "", content: '{"time":"noon"}' },
            { role: "tool", tool_call_id: london?.id ?? "", content: "fog" },
            { role: "tool", tool_call_id: paris?.id ?? "", content: '{"output":"sun"}' },
          ],
        })
        assert.deepStrictEqual(Object(body).contents.slice(1), [
          {
            role: "model",
            parts: [
              {
                functionCall: { name: "get_weather", args: { location: "Paris" } },
                thoughtSignature: "CvcQAXLI2nwM",
              },
              { functionCall: { name: "get_weather", args: { location: "London" } } },
              { functionCall: { id: "own-id", name: "get_time", args: {} } },
            ],
          },
          {
            role: "user",
            parts: [
              { functionResponse: { name: "get_weather", response: { output: { output: "sun" } } } },
              { functionResponse: { name: "get_weather", response: { output: "fog" } } },
              { functionResponse: { id: "own-id", name: "get_time", response: { time: "noon" } } },
            ],
          },
        ])
      }),
  )

  it.effect("a signature of text is sent back on the text", () =>
    Effect.gen(function* () {
      const { provider } = yield* canned("gemini", () => json(jsonFixture("gemini-complete")))
      const answer = (yield* provider.complete(hi)).choices[0]?.message
      assert.isDefined(answer)
      const { body } = yield* sentFor("gemini", { messages: [...hi.messages, answer, ...hi.messages] })
      assert.deepStrictEqual(Object(body).contents[1], {
        role: "model",
        parts: [{ text: "AI learns patterns from data.", thoughtSignature: "CikB0e2Kb4Yp" }],
      })
    }),
  )

  it.effect("another model's call is marked as such, for the models that require it", () =>
    Effect.gen(function* () {
      const messages: ChatRequest["messages"] = [
        ...hi.messages,
        {
          role: "assistant",
          tool_calls: [
            { id: "call_1", type: "function", function: { name: "f", arguments: "{}" } },
            { id: "call_2", type: "function", function: { name: "f", arguments: "{}" } },
          ],
        },
        { role: "tool", tool_call_id: "call_1", content: "1" },
        { role: "tool", tool_call_id: "call_2", content: "2" },
      ]
      const signatures = (body: unknown) =>
        Object(body).contents[1].parts.map((part: { thoughtSignature?: string }) => part.thoughtSignature)
      const newer = yield* sentFor("gemini", { messages, model: "gemini-3-pro" })
      assert.deepStrictEqual(signatures(newer.body), ["skip_thought_signature_validator", undefined])
      const older = yield* sentFor("gemini", { messages, model: "gemini-2.5-flash" })
      assert.deepStrictEqual(signatures(older.body), [undefined, undefined])
    }),
  )

  it.effect("images by URL have the type of their file extension", () =>
    Effect.gen(function* () {
      const { body } = yield* sentFor("gemini", {
        messages: [
          {
            role: "user",
            content: [
              { type: "image_url", image_url: { url: "https://x.example/a.JPG?b=1" } },
              { type: "image_url", image_url: { url: "https://x.example/image" } },
              { type: "image_url", image_url: { url: "https://notyoutube.com/v1.2/?a=b.mp4" } },
              { type: "image_url", image_url: { url: "data:image/webp;charset=x;base64,AAAA" } },
            ],
          },
        ],
      })
      assert.deepStrictEqual(Object(body).contents[0].parts, [
        { fileData: { mimeType: "image/jpeg", fileUri: "https://x.example/a.JPG?b=1" } },
        { fileData: { fileUri: "https://x.example/image" } },
        { fileData: { fileUri: "https://notyoutube.com/v1.2/?a=b.mp4" } },
        { inlineData: { mimeType: "image/webp", data: "AAAA" } },
      ])
    }),
  )
})

it.effect("gemini gets consecutive messages of the model as one content, and the user's apart", () =>
  Effect.gen(function* () {
    const { body } = yield* sentFor("gemini", {
      model: "gemini-2.5-flash",
      messages: [
        { role: "user", content: "a" },
        { role: "user", content: "b" },
        { role: "assistant", content: "I look." },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "c", content: "1" },
        { role: "user", content: "c" },
      ],
    })
    assert.deepStrictEqual(Object(body).contents, [
      { role: "user", parts: [{ text: "a" }] },
      { role: "user", parts: [{ text: "b" }] },
      { role: "model", parts: [{ text: "I look." }, { functionCall: { id: "c", name: "f", args: {} } }] },
      { role: "user", parts: [{ functionResponse: { id: "c", name: "f", response: { output: "1" } } }] },
      { role: "user", parts: [{ text: "c" }] },
    ])
  }),
)

it.effect.each(["anthropic", "gemini"] as const)("%s gets a JPEG by its registered media type", (vendor) =>
  Effect.gen(function* () {
    const image_url = { url: "data:image/jpg;base64,AAAA" }
    const { body } = yield* sentFor(vendor, {
      messages: [{ role: "user", content: [{ type: "image_url", image_url }] }],
    })
    assert.include(JSON.stringify(body), '"image/jpeg"')
    assert.notInclude(JSON.stringify(body), "image/jpg")
  }),
)
