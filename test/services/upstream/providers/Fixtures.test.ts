/** Answers as the vendors' documentation shows them. */
import { assert, it } from "@effect/vitest"
import { Effect, Redacted, Stream } from "effect"
import type { ChatCompletion } from "../../../../src/domain/chat/chat.ts"
import { accumulate } from "../../../../src/domain/chat/chatStream.ts"
import { canned, events, json, type Vendor } from "./support/Canned.ts"
import { eventFixture, jsonFixture } from "./support/fixtures.ts"
import { REQUEST } from "./support/raw.ts"

const complete = (vendor: Vendor, fixture: string) =>
  Effect.flatMap(
    canned(vendor, () => json(jsonFixture(fixture))),
    ({ provider }) => provider.complete(REQUEST),
  )

const streamed = (vendor: Vendor, fixture: string) =>
  Effect.flatMap(
    canned(vendor, () => events(eventFixture(fixture))),
    ({ provider }) => Effect.map(Stream.runCollect(provider.stream(REQUEST)), accumulate),
  )

const call = (id: string, name: string, args: string, extra: object = {}) => ({
  id,
  type: "function",
  function: { name, arguments: args },
  ...extra,
})

const tokens = (prompt_tokens: number, completion_tokens: number, cached?: object, reasoning_tokens?: number) => ({
  prompt_tokens,
  completion_tokens,
  total_tokens: prompt_tokens + completion_tokens,
  ...(cached === undefined ? {} : { prompt_tokens_details: cached }),
  ...(reasoning_tokens === undefined ? {} : { completion_tokens_details: { reasoning_tokens } }),
})

/** An answer with one choice. `finish` has the vendor's reason behind a colon, if the vendor is not OpenAI. */
const answer = (
  id: string,
  model: string,
  message: object,
  finish: string,
  usage: object,
  {
    choice = {},
    created = 0,
    ...head
  }: { readonly created?: number; readonly choice?: object; readonly [member: string]: unknown } = {},
) => {
  const [finish_reason, native] = finish.split(":")
  return {
    id,
    object: "chat.completion",
    created,
    model,
    ...head,
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: null, refusal: null, ...message },
        ...choice,
        finish_reason,
        ...(native === undefined ? {} : { native_finish_reason: native }),
      },
    ],
    usage,
  }
}

const thinking = (...blocks: ReadonlyArray<object>) => ({
  extra_content: { anthropic: { thinking_blocks: blocks }, sealgate: true },
})

const signature = (thought_signature: string) => ({
  extra_content: { google: { thought_signature }, sealgate: true },
})

const SIGNED = { type: "thinking", thinking: "", signature: "EqQBCgIYAhIM1gbcDa9GJwZA2b3h" }
const LOGPROBS = { choice: { logprobs: null } }

const decodes = (name: string, answer: Effect.Effect<ChatCompletion, unknown>, wanted: object) =>
  it.effect(name, () => Effect.map(answer, (completion) => assert.deepStrictEqual({ ...completion }, wanted)))

decodes(
  "openai: an answer, nothing of it lost",
  complete("openai", "openai-complete"),
  Object(jsonFixture("openai-complete")),
)

decodes(
  "openai: tool calls",
  complete("openai", "openai-tools"),
  answer(
    "chatcmpl-abc123",
    "gpt-4o-mini",
    {
      tool_calls: [
        call("call_abc123", "get_current_weather", '{\n"location": "Boston, MA"\n}'),
        call("call_abc124", "get_current_time", "{}"),
      ],
    },
    "tool_calls",
    tokens(82, 17, undefined, 0),
    { created: 1699896916, ...LOGPROBS },
  ),
)

decodes(
  "openai: a stream with usage",
  streamed("openai", "openai-stream"),
  answer(
    "chatcmpl-123",
    "gpt-4o-mini",
    { content: "Hello there" },
    "stop",
    {
      ...tokens(19, 3, { cached_tokens: 0, audio_tokens: 0 }),
      completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
    },
    { created: 1694268190, system_fingerprint: "fp_44709d6fcb", ...LOGPROBS },
  ),
)

decodes(
  "openai: a stream of tool calls",
  streamed("openai", "openai-stream-tools"),
  answer(
    "chatcmpl-789",
    "gpt-4o",
    {
      tool_calls: [
        call("call_DdmO9pD3xa9XTPNJ32zg2hcA", "get_weather", '{"location":"Paris, France"}'),
        call("call_0PqhRL3Xn2vYw8KbTz", "get_time", "{}"),
      ],
    },
    "tool_calls",
    tokens(73, 31),
    { created: 1730000000, ...LOGPROBS },
  ),
)

decodes(
  "openai: a careless server",
  streamed("openai", "openai-stream-compatible"),
  answer(
    "cmpl-6f2a",
    "mixtral-8x7b",
    { content: "Hi!", reasoning_content: "The user greets me." },
    "stop",
    tokens(5, 7),
    {
      created: 1761000000,
      prompt_filter_results: [
        { prompt_index: 0, content_filter_results: { hate: { filtered: false, severity: "safe" } } },
      ],
    },
  ),
)

decodes(
  "anthropic: an answer, with the prompt cache counted",
  complete("anthropic", "anthropic-complete"),
  answer(
    "msg_013Zva2CMHLNnXjNJJKqJ2EF",
    "claude-opus-5",
    { content: "Hi! My name is Claude." },
    "stop:end_turn",
    tokens(6197, 503, { cached_tokens: 2051, cache_write_tokens: 2051 }, 120),
  ),
)

decodes(
  "anthropic: tool calls, each with the thinking before it",
  complete("anthropic", "anthropic-tools"),
  answer(
    "msg_01Aq9w938a90dw8q",
    "claude-sonnet-5",
    {
      content: "I'll check both cities.",
      tool_calls: [
        call("toolu_01A09q90qw90lq917835lq9", "get_weather", '{"location":"San Francisco, CA","unit":"celsius"}'),
        call(
          "toolu_01A09q90qw90lq917835lq8",
          "get_time",
          "{}",
          thinking({ type: "redacted_thinking", data: "EmwKAhgBEgy3va3pzix" }),
        ),
      ],
      ...thinking(SIGNED),
    },
    "tool_calls:tool_use",
    tokens(345, 96, { cached_tokens: 0, cache_write_tokens: 0 }),
  ),
)

decodes(
  "anthropic: a refusal",
  complete("anthropic", "anthropic-refusal"),
  answer(
    "msg_01RefusalExample",
    "claude-opus-5",
    { refusal: "The request could enable cyber harm." },
    "content_filter:refusal",
    tokens(30, 1, { cached_tokens: 0, cache_write_tokens: 0 }),
  ),
)

decodes(
  "anthropic: a stream, its usage put together from both ends",
  streamed("anthropic", "anthropic-stream"),
  answer(
    "msg_1nZdL29xx5MUA1yADyHTEsnR8uuvGzszyY",
    "claude-opus-5",
    { content: "Hello!" },
    "stop:end_turn",
    tokens(125, 15, { cached_tokens: 100, cache_write_tokens: 0 }),
  ),
)

decodes(
  "anthropic: a stream of thinking, text and tools",
  streamed("anthropic", "anthropic-stream-tools"),
  answer(
    "msg_014p7gG3wDgGV9EUtLvnow3U",
    "claude-opus-5",
    {
      content: "Okay, let's check:",
      tool_calls: [
        call("toolu_01T1x1fJ34qAmk2tNTrN7Up6", "get_weather", '{"location": "San Francisco, CA"}'),
        call("toolu_02", "get_time", "{}"),
      ],
      ...thinking({ ...SIGNED, thinking: "I need the weather and the time." }),
    },
    "tool_calls:tool_use",
    tokens(472, 89, { cached_tokens: 0, cache_write_tokens: 0 }, 20),
  ),
)

decodes(
  "gemini: an answer, with cache and thoughts counted",
  complete("gemini", "gemini-complete"),
  answer(
    "mAitaLmkHPPlz7IPvtfUqQ4",
    "gemini-3-flash",
    { content: "AI learns patterns from data.", ...signature("CikB0e2Kb4Yp") },
    "stop:STOP",
    tokens(1008, 132, { cached_tokens: 1000 }, 122),
  ),
)

decodes(
  "gemini: parallel calls without ids, thoughts left out",
  complete("gemini", "gemini-tools"),
  answer(
    "resp-1",
    "gemini-3-pro",
    {
      tool_calls: [
        call("gemini-call-resp-1-0-0", "get_weather", '{"location":"Paris"}', signature("CvcQAXLI2nwM")),
        call("gemini-call-resp-1-0-1", "get_weather", '{"location":"London"}'),
        call("own-id", "get_time", "{}"),
      ],
    },
    "tool_calls:STOP",
    tokens(50, 120, { cached_tokens: 0 }, 100),
  ),
)

decodes(
  "gemini: a stream",
  streamed("gemini", "gemini-stream"),
  answer(
    "Rl9qaJOzM6mYxN8P6Y",
    "gemini-3-flash",
    { content: "AI learns patterns from data.", ...signature("CikB0e2Kb4Yp") },
    "stop:STOP",
    tokens(8, 130, { cached_tokens: 0 }, 120),
  ),
)

decodes(
  "gemini: a stream of calls",
  streamed("gemini", "gemini-stream-tools"),
  answer(
    "Rl9qaJOzM6mYxN8P6Y",
    "gemini-3-flash",
    {
      tool_calls: [
        call("gemini-call-Rl9qaJOzM6mYxN8P6Y-0-0", "get_weather", '{"location":"Paris"}', signature("CvcQAXLI2nwM")),
        call("gemini-call-Rl9qaJOzM6mYxN8P6Y-0-1", "get_weather", '{"location":"London"}'),
      ],
    },
    "tool_calls:STOP",
    tokens(8, 60, { cached_tokens: 0 }, 50),
  ),
)

it.effect("gemini: a blocked prompt is a failure with its reason and its cost", () =>
  Effect.gen(function* () {
    const failure = yield* Effect.flip(complete("gemini", "gemini-blocked"))
    assert.strictEqual(failure.kind, "content-filtered")
    assert.strictEqual(failure.detail === undefined ? "" : Redacted.value(failure.detail), "PROHIBITED_CONTENT")
    assert.strictEqual(failure.usage?.prompt_tokens, 12)
  }),
)
