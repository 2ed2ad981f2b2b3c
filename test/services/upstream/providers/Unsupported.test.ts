/** Members that a vendor's format cannot express are refused by name before anything is sent. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Stream } from "effect"
import type { ChatRequest, ContentPart, Message } from "../../../../src/domain/chat/chat.ts"
import { canned, json, MINIMAL, type Vendor } from "./support/Canned.ts"

const user: Message = { role: "user", content: "hi" }
const hi: ChatRequest = { messages: [user] }
const tools: ChatRequest["tools"] = [{ type: "function", function: { name: "f" } }]
const image = (url: string) => ({ type: "image_url", image_url: { url } }) as const
/** A user's message of one part. */
const part = (content: ContentPart): ChatRequest => ({ messages: [{ role: "user", content: [content] }] })
/** A message, and what followed it. */
const before = (...later: ReadonlyArray<Message>): ChatRequest => ({ messages: [user, ...later] })
const assistant = (members: object): Message => ({ role: "assistant", ...members })
/** A call of a tool under the id `c`, and what followed it. */
const calling = (called: object, ...later: ReadonlyArray<Message>): ChatRequest => {
  const call = { id: "c", type: "function", function: { name: "f", arguments: "{}", ...called } }
  return { tools, ...before(assistant({ tool_calls: [call] }), ...later) }
}
const result = (tool_call_id: string, content: NonNullable<Message["content"]> = "1"): Message => ({
  role: "tool",
  tool_call_id,
  content,
})

const both: ReadonlyArray<readonly [member: string, request: ChatRequest]> = [
  ["logprobs", { ...hi, logprobs: true }],
  ["logit_bias", { ...hi, logit_bias: { "1": 2 } }],
  ["modalities", { ...hi, modalities: ["text", "audio"] }],
  ["audio", { ...hi, audio: { voice: "a", format: "wav" } }],
  ["web_search_options", { ...hi, web_search_options: { user_location: {} } }],
  ["service_tier", { ...hi, service_tier: "priority" }],
  ["verbosity", { ...hi, verbosity: "low" }],
  ["reasoning_effort", { ...hi, reasoning_effort: "heroic" }],
  ["tool_choice", { ...hi, tool_choice: "required" }],
  ["a_member_of_the_future", { ...hi, a_member_of_the_future: 1 }],
  ["top_k", { ...hi, top_k: "many" }],
  ["messages[0].name", { messages: [{ ...user, name: "ann" }] }],
  ["messages[0].content[0]", part({ type: "input_audio", input_audio: {} })],
  ["messages[0].content[0].weight", part({ type: "text", text: "a", weight: 2 })],
  ["messages[0].content[0].image_url.url", part(image("file:///etc/passwd"))],
  ["messages[0].content[0].image_url.url", part(image("data:image/svg+xml,<svg/>"))],
  ["messages[1].content", before(assistant({ content: [image("https://x.example/a.png")] }))],
  ["messages[1].audio", before(assistant({ content: "a", audio: { id: "x" } }))],
  ["messages[1].tool_calls[0].function.arguments", calling({ arguments: "not json" })],
  ["messages[1].tool_calls[0].function.arguments", calling({ arguments: "[1]" })],
  ["messages[1].tool_calls[0].function.arguments", calling({ arguments: `{"a":[${"0,".repeat(40_000)}0]}` })],
  ["tools[0].function.examples", { ...hi, tools: [{ type: "function", function: { name: "f", examples: [1] } }] }],
  ["functions", { ...hi, functions: [{ name: "f" }] }],
  ["function_call", { ...hi, function_call: "auto" }],
  ["messages[1].function_call", before(assistant({ function_call: { name: "f", arguments: "{}" } }))],
  ["messages[1].tool_calls[0].function.parsed", calling({ parsed: {} }, result("c"))],
  [
    "tool_choice.disable_parallel_tool_use",
    { ...hi, tools, tool_choice: { type: "function", function: { name: "f" }, disable_parallel_tool_use: true } },
  ],
  [
    "tool_choice.function.arguments",
    { ...hi, tools, tool_choice: { type: "function", function: { name: "f", arguments: "{}" } } },
  ],
  ["response_format.schema", { ...hi, response_format: { type: "text", schema: { type: "object" } } }],
  [
    "response_format.grammar",
    { ...hi, response_format: { type: "json_schema", grammar: "g", json_schema: { name: "s", schema: {} } } },
  ],
  [
    "response_format.json_schema.examples",
    { ...hi, response_format: { type: "json_schema", json_schema: { name: "s", schema: {}, examples: [1] } } },
  ],
  ["messages", { messages: [{ role: "system", content: "only" }] }],
]

const rows: ReadonlyArray<readonly [vendor: Vendor, member: string, request: ChatRequest]> = [
  ...both.flatMap(([member, request]) =>
    (["anthropic", "gemini"] as const).map((vendor) => [vendor, member, request] as const),
  ),
  ["anthropic", "n", { ...hi, n: 2 }],
  ["anthropic", "temperature", { ...hi, temperature: 1.7 }],
  ["anthropic", "temperature", { ...hi, temperature: -0.1 }],
  ["anthropic", "presence_penalty", { ...hi, presence_penalty: 0.1 }],
  ["anthropic", "response_format", { ...hi, response_format: { type: "json_object" } }],
  [
    "anthropic",
    "response_format.json_schema",
    { ...hi, response_format: { type: "json_schema", json_schema: { name: "s" } } },
  ],
  ["anthropic", "cache_control", { ...hi, cache_control: { type: "forever" } }],
  ["anthropic", "messages[0].cache_control", { messages: [{ ...user, cache_control: { type: "forever" } }] }],
  ["gemini", "parallel_tool_calls", { ...hi, tools, parallel_tool_calls: false }],
  ["gemini", "response_format.schema", { ...hi, response_format: { type: "json_object", schema: { type: "object" } } }],
  [
    "gemini",
    "response_format.json_schema",
    { ...hi, response_format: { type: "json_object", json_schema: { name: "s", schema: {} } } },
  ],
  ["gemini", "reasoning_effort", { ...hi, reasoning_effort: "none" }],
  ["gemini", "reasoning_effort", { ...hi, reasoning_effort: "none", model: "gemini-2.5-pro" }],
  ["gemini", "reasoning_effort", { ...hi, reasoning_effort: "low", model: "gemini-2.0-flash" }],
  ["gemini", "reasoning_effort", { ...hi, reasoning_effort: "heroic", model: "gemini-2.5-flash" }],
  ["gemini", "model", { ...hi, model: "../../v1/secrets" }],
  ["gemini", "model", { ...hi, model: "a/b/c" }],
  ["gemini", "model", { ...hi, model: "m?key=1" }],
  ...[
    "http://x.example/a.png",
    "https://youtu.be/dQw4w9WgXcQ",
    "https://www.youtube.com/watch?v=dQw4w9WgXcQ",
    "https://m.YouTube.com./a.png",
    "https://www.youtube-nocookie.com/embed/dQw4w9WgXcQ",
    "https://generativelanguage.googleapis.com/v1beta/files/abc",
    "https://x.example/a.mp4?b=a.png",
    "https://x.example/a.pdf#a.png",
    "https://x.example/a.m%70eg",
    "https://[",
    "data:video/mp4;base64,AAAA",
  ].map((url) => ["gemini", "messages[0].content[0].image_url.url", part(image(url))] as const),
  ["gemini", "messages[2].content[0].image_url.url", calling({}, result("c", [image("https://youtu.be/dQw4w9WgXcQ")]))],
  ["gemini", "messages[2].tool_call_id", calling({}, result("other"))],
  ["gemini", "messages[3].tool_call_id", calling({}, result("c"), result("c", "2"))],
]

describe("refuses", () => {
  for (const [vendor, member, request] of rows) {
    it.effect(`${vendor}: ${member} of ${JSON.stringify(request).slice(0, 100)}`, () =>
      Effect.gen(function* () {
        const { provider, sent } = yield* canned(vendor, () => json(MINIMAL[vendor]))
        for (const failure of [
          yield* Effect.flip(provider.complete(request)),
          yield* Effect.flip(Stream.runDrain(provider.stream(request))),
        ]) {
          assert.strictEqual(failure.kind, "unsupported")
          const detail = failure.detail === undefined ? "" : Redacted.value(failure.detail)
          assert.isTrue(
            detail.split("; ").some((found) => found.startsWith(`${member}: `) || found.startsWith(`${member}[`)),
            detail,
          )
        }
        assert.isEmpty(sent)
      }),
    )
  }

  it.effect("all unsupported members at once, without printing them", () =>
    Effect.gen(function* () {
      const { provider } = yield* canned("anthropic", () => json(MINIMAL.anthropic))
      const failure = yield* Effect.flip(provider.complete({ ...hi, n: 3, logprobs: true, audio: { voice: "a" } }))
      const detail = failure.detail === undefined ? "" : Redacted.value(failure.detail)
      for (const member of ["n", "logprobs", "audio"]) assert.include(detail, `${member}: `)
      assert.notInclude(JSON.stringify(failure), "logprobs")
      assert.notInclude(String(failure), "logprobs")
    }),
  )
})

describe("accepts", () => {
  for (const temperature of [0, 1]) {
    it.effect(`anthropic: a temperature of ${temperature}`, () =>
      Effect.gen(function* () {
        const { provider, sent } = yield* canned("anthropic", () => json(MINIMAL.anthropic))
        yield* provider.complete({ ...hi, temperature })
        assert.include(sent[0]?.body, { temperature })
      }),
    )
  }

  const neutral: ChatRequest = {
    ...hi,
    n: 1,
    logprobs: false,
    top_logprobs: 0,
    frequency_penalty: 0,
    presence_penalty: 0,
    logit_bias: {},
    modalities: ["text"],
    service_tier: "auto",
    verbosity: "medium",
    parallel_tool_calls: true,
    audio: null,
    web_search_options: null,
    user: "u",
    metadata: { a: "b" },
    store: true,
    seed: 1,
    prompt_cache_key: "k",
    prediction: { type: "content", content: "x" },
    stream_options: { include_usage: true },
    tool_choice: "none",
  }
  for (const vendor of ["anthropic", "gemini"] as const) {
    it.effect(`${vendor}: members with neutral values, and hints`, () =>
      Effect.gen(function* () {
        const { provider, sent } = yield* canned(vendor, () => json(MINIMAL[vendor]))
        yield* provider.complete(neutral)
        assert.lengthOf(sent, 1)
      }),
    )
  }
})
