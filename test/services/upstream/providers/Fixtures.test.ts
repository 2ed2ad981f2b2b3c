/** Answers as the vendors' documentation shows them. */
import { assert, it } from "@effect/vitest"
import { Effect, Redacted, Stream } from "effect"
import type { ChatCompletion, ChatRequest } from "../../../../src/domain/chat/chat.ts"
import { accumulate } from "../../../../src/domain/chat/chatStream.ts"
import { canned, events, json, type Vendor } from "./support/Canned.ts"
import { eventFixture, jsonFixture } from "./support/fixtures.ts"

const request: ChatRequest = { messages: [{ role: "user", content: "hi" }] }

const complete = (vendor: Vendor, fixture: string) =>
  Effect.flatMap(
    canned(vendor, () => json(jsonFixture(fixture))),
    ({ provider }) => provider.complete(request),
  )

const streamed = (vendor: Vendor, fixture: string) =>
  Effect.flatMap(
    canned(vendor, () => events(eventFixture(fixture))),
    ({ provider }) => Effect.map(Stream.runCollect(provider.stream(request)), accumulate),
  )

const call = (id: string, name: string, args: string, extra: object = {}) => ({
  id,
  type: "function",
  function: { name, arguments: args },
  ...extra,
})

const decodes = (name: string, answer: Effect.Effect<ChatCompletion, unknown>, wanted: object) =>
  it.effect(name, () => Effect.map(answer, (completion) => assert.deepStrictEqual({ ...completion }, wanted)))

decodes(
  "openai: an answer, nothing of it lost",
  complete("openai", "openai-complete"),
  Object(jsonFixture("openai-complete")),
)

decodes("openai: tool calls", complete("openai", "openai-tools"), {
  id: "chatcmpl-abc123",
  object: "chat.completion",
  created: 1699896916,
  model: "gpt-4o-mini",
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: null,
        refusal: null,
        tool_calls: [
          call("call_abc123", "get_current_weather", '{\n"location": "Boston, MA"\n}'),
          call("call_abc124", "get_current_time", "{}"),
        ],
      },
      logprobs: null,
      finish_reason: "tool_calls",
    },
  ],
  usage: {
    prompt_tokens: 82,
    completion_tokens: 17,
    total_tokens: 99,
    completion_tokens_details: { reasoning_tokens: 0 },
  },
})

decodes("openai: a stream with usage", streamed("openai", "openai-stream"), {
  id: "chatcmpl-123",
  object: "chat.completion",
  created: 1694268190,
  model: "gpt-4o-mini",
  system_fingerprint: "fp_44709d6fcb",
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: "Hello there", refusal: null },
      logprobs: null,
      finish_reason: "stop",
    },
  ],
  usage: {
    prompt_tokens: 19,
    completion_tokens: 3,
    total_tokens: 22,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
  },
})

decodes("openai: a stream of tool calls", streamed("openai", "openai-stream-tools"), {
  id: "chatcmpl-789",
  object: "chat.completion",
  created: 1730000000,
  model: "gpt-4o",
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: null,
        refusal: null,
        tool_calls: [
          call("call_DdmO9pD3xa9XTPNJ32zg2hcA", "get_weather", '{"location":"Paris, France"}'),
          call("call_0PqhRL3Xn2vYw8KbTz", "get_time", "{}"),
        ],
      },
      logprobs: null,
      finish_reason: "tool_calls",
    },
  ],
  usage: { prompt_tokens: 73, completion_tokens: 31, total_tokens: 104 },
})

decodes("openai: a careless server", streamed("openai", "openai-stream-compatible"), {
  id: "cmpl-6f2a",
  object: "chat.completion",
  created: 1761000000,
  model: "mixtral-8x7b",
  prompt_filter_results: [{ prompt_index: 0, content_filter_results: { hate: { filtered: false, severity: "safe" } } }],
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: "Hi!",
        refusal: null,
        reasoning_content: "The user greets me.",
      },
      finish_reason: "stop",
    },
  ],
  usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 },
})

decodes("anthropic: an answer, with the prompt cache counted", complete("anthropic", "anthropic-complete"), {
  id: "msg_013Zva2CMHLNnXjNJJKqJ2EF",
  object: "chat.completion",
  created: 0,
  model: "claude-opus-5",
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: "Hi! My name is Claude.", refusal: null },
      finish_reason: "stop",
      native_finish_reason: "end_turn",
    },
  ],
  usage: {
    prompt_tokens: 6197,
    completion_tokens: 503,
    total_tokens: 6700,
    prompt_tokens_details: { cached_tokens: 2051, cache_write_tokens: 2051 },
    completion_tokens_details: { reasoning_tokens: 120 },
  },
})

const thinking = (...blocks: ReadonlyArray<object>) => ({
  extra_content: { anthropic: { thinking_blocks: blocks }, sealgate: true },
})

decodes("anthropic: tool calls, each with the thinking before it", complete("anthropic", "anthropic-tools"), {
  id: "msg_01Aq9w938a90dw8q",
  object: "chat.completion",
  created: 0,
  model: "claude-sonnet-5",
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: "I'll check both cities.",
        refusal: null,
        tool_calls: [
          call("toolu_01A09q90qw90lq917835lq9", "get_weather", '{"location":"San Francisco, CA","unit":"celsius"}'),
          call(
            "toolu_01A09q90qw90lq917835lq8",
            "get_time",
            "{}",
            thinking({ type: "redacted_thinking", data: "EmwKAhgBEgy3va3pzix" }),
          ),
        ],
        ...thinking({ type: "thinking", thinking: "", signature: "EqQBCgIYAhIM1gbcDa9GJwZA2b3h" }),
      },
      finish_reason: "tool_calls",
      native_finish_reason: "tool_use",
    },
  ],
  usage: {
    prompt_tokens: 345,
    completion_tokens: 96,
    total_tokens: 441,
    prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  },
})

decodes("anthropic: a refusal", complete("anthropic", "anthropic-refusal"), {
  id: "msg_01RefusalExample",
  object: "chat.completion",
  created: 0,
  model: "claude-opus-5",
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: null, refusal: "The request could enable cyber harm." },
      finish_reason: "content_filter",
      native_finish_reason: "refusal",
    },
  ],
  usage: {
    prompt_tokens: 30,
    completion_tokens: 1,
    total_tokens: 31,
    prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  },
})

decodes("anthropic: a stream, its usage put together from both ends", streamed("anthropic", "anthropic-stream"), {
  id: "msg_1nZdL29xx5MUA1yADyHTEsnR8uuvGzszyY",
  object: "chat.completion",
  created: 0,
  model: "claude-opus-5",
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: "Hello!", refusal: null },
      finish_reason: "stop",
      native_finish_reason: "end_turn",
    },
  ],
  usage: {
    prompt_tokens: 125,
    completion_tokens: 15,
    total_tokens: 140,
    prompt_tokens_details: { cached_tokens: 100, cache_write_tokens: 0 },
  },
})

decodes("anthropic: a stream of thinking, text and tools", streamed("anthropic", "anthropic-stream-tools"), {
  id: "msg_014p7gG3wDgGV9EUtLvnow3U",
  object: "chat.completion",
  created: 0,
  model: "claude-opus-5",
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: "Okay, let's check:",
        refusal: null,
        tool_calls: [
          call("toolu_01T1x1fJ34qAmk2tNTrN7Up6", "get_weather", '{"location": "San Francisco, CA"}'),
          call("toolu_02", "get_time", "{}"),
        ],
        ...thinking({
          type: "thinking",
          thinking: "I need the weather and the time.",
          signature: "EqQBCgIYAhIM1gbcDa9GJwZA2b3h",
        }),
      },
      finish_reason: "tool_calls",
      native_finish_reason: "tool_use",
    },
  ],
  usage: {
    prompt_tokens: 472,
    completion_tokens: 89,
    total_tokens: 561,
    prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 20 },
  },
})

const signature = (thought_signature: string) => ({
  extra_content: { google: { thought_signature }, sealgate: true },
})

decodes("gemini: an answer, with cache and thoughts counted", complete("gemini", "gemini-complete"), {
  id: "mAitaLmkHPPlz7IPvtfUqQ4",
  object: "chat.completion",
  created: 0,
  model: "gemini-3-flash",
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: "AI learns patterns from data.",
        refusal: null,
        ...signature("CikB0e2Kb4Yp"),
      },
      finish_reason: "stop",
      native_finish_reason: "STOP",
    },
  ],
  usage: {
    prompt_tokens: 1008,
    completion_tokens: 132,
    total_tokens: 1140,
    prompt_tokens_details: { cached_tokens: 1000 },
    completion_tokens_details: { reasoning_tokens: 122 },
  },
})

decodes("gemini: parallel calls without ids, thoughts left out", complete("gemini", "gemini-tools"), {
  id: "resp-1",
  object: "chat.completion",
  created: 0,
  model: "gemini-3-pro",
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: null,
        refusal: null,
        tool_calls: [
          call("gemini-call-resp-1-0-0", "get_weather", '{"location":"Paris"}', signature("CvcQAXLI2nwM")),
          call("gemini-call-resp-1-0-1", "get_weather", '{"location":"London"}'),
          call("own-id", "get_time", "{}"),
        ],
      },
      finish_reason: "tool_calls",
      native_finish_reason: "STOP",
    },
  ],
  usage: {
    prompt_tokens: 50,
    completion_tokens: 120,
    total_tokens: 170,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 100 },
  },
})

decodes("gemini: a stream", streamed("gemini", "gemini-stream"), {
  id: "Rl9qaJOzM6mYxN8P6Y",
  object: "chat.completion",
  created: 0,
  model: "gemini-3-flash",
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: "AI learns patterns from data.",
        refusal: null,
        ...signature("CikB0e2Kb4Yp"),
      },
      finish_reason: "stop",
      native_finish_reason: "STOP",
    },
  ],
  usage: {
    prompt_tokens: 8,
    completion_tokens: 130,
    total_tokens: 138,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 120 },
  },
})

decodes("gemini: a stream of calls", streamed("gemini", "gemini-stream-tools"), {
  id: "Rl9qaJOzM6mYxN8P6Y",
  object: "chat.completion",
  created: 0,
  model: "gemini-3-flash",
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: null,
        refusal: null,
        tool_calls: [
          call("gemini-call-Rl9qaJOzM6mYxN8P6Y-0-0", "get_weather", '{"location":"Paris"}', signature("CvcQAXLI2nwM")),
          call("gemini-call-Rl9qaJOzM6mYxN8P6Y-0-1", "get_weather", '{"location":"London"}'),
        ],
      },
      finish_reason: "tool_calls",
      native_finish_reason: "STOP",
    },
  ],
  usage: {
    prompt_tokens: 8,
    completion_tokens: 60,
    total_tokens: 68,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 50 },
  },
})

it.effect("gemini: a blocked prompt is a failure with its reason and its cost", () =>
  Effect.gen(function* () {
    const failure = yield* Effect.flip(complete("gemini", "gemini-blocked"))
    assert.strictEqual(failure.kind, "content-filtered")
    assert.strictEqual(failure.detail === undefined ? "" : Redacted.value(failure.detail), "PROHIBITED_CONTENT")
    assert.strictEqual(failure.usage?.prompt_tokens, 12)
  }),
)

it.effect("openai: pieces of tool calls find their calls, even if the provider's indexes have gaps", () =>
  Effect.gen(function* () {
    const far = 2 ** 40
    const pieces = [
      { index: far, id: "first", function: { name: "f", arguments: '{"a"' } },
      { id: "second", function: { name: "g", arguments: "{}" } },
      { id: "first", function: { arguments: ":1" } },
      { index: far, function: { arguments: "}" } },
      { id: "third", function: { name: "h", arguments: "[" } },
      { function: { arguments: "]" } },
    ]
    const { provider } = yield* canned("openai", () =>
      events([
        ...pieces.map(
          (piece) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: [piece] } }] })}\n\n`,
        ),
        `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] })}\n\n`,
        "data: [DONE]\n\n",
      ]),
    )
    const chunks = yield* Stream.runCollect(provider.stream({ messages: [{ role: "user", content: "hi" }] }))
    assert.deepStrictEqual(accumulate(chunks).choices[0]?.message.tool_calls, [
      { id: "first", type: "function", function: { name: "f", arguments: '{"a":1}' } },
      { id: "second", type: "function", function: { name: "g", arguments: "{}" } },
      { id: "third", type: "function", function: { name: "h", arguments: "[]" } },
    ])
  }),
)
