/** The fake upstream works with Anthropic's SDK. */
import Anthropic, {
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  PermissionDeniedError,
  RateLimitError,
} from "@anthropic-ai/sdk"
import { assert, describe, it } from "@effect/vitest"
import { type Fake, FakeUpstream, fault } from "../support/FakeUpstream.ts"

const client = (fake: Fake): Anthropic =>
  new Anthropic({ apiKey: "sk-ant-test", baseURL: fake.anthropic, maxRetries: 0 })

const hello = { model: "claude-test", max_tokens: 64, messages: [{ role: "user" as const, content: "Hello" }] }

const tool = (name: string) => ({
  name,
  input_schema: { type: "object" as const, properties: { city: { type: "string" } } },
})

const thrown = async (call: PromiseLike<unknown>): Promise<unknown> =>
  call.then(
    () => assert.fail("the call succeeded"),
    (error: unknown) => error,
  )

/** Sends raw HTTP: the SDK's types and version exclude many requests that must be refused. */
const post = async (fake: Fake, body: object, headers: Record<string, string> = {}) => {
  const response = await fetch(`${fake.anthropic}/v1/messages`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": "k", "anthropic-version": "2023-06-01", ...headers },
    body: JSON.stringify({ ...hello, ...body }),
  })
  return `${response.status} ${await response.text()}`
}

describe("FakeUpstream as Anthropic", () => {
  it("answers whole, with cached tokens excluded from input_tokens", async () => {
    await using fake = await FakeUpstream.start()
    fake.script({ text: "Good day", usage: { input: 20, cached: 12, cacheWritten: 3, output: 7, reasoning: 4 } })
    const message = await client(fake).messages.create(hello)
    assert.deepStrictEqual<unknown>(message.content, [{ type: "text", text: "Good day", citations: null }])
    assert.deepStrictEqual([message.model, message.stop_reason, message.role], ["claude-test", "end_turn", "assistant"])
    assert.strictEqual(message.usage.input_tokens, 5)
    assert.strictEqual(message.usage.cache_read_input_tokens, 12)
    assert.strictEqual(message.usage.cache_creation_input_tokens, 3)
    assert.strictEqual(message.usage.output_tokens, 7)
    assert.strictEqual(message.usage.output_tokens_details?.thinking_tokens, 4)
    assert.match(message._request_id ?? "", /^req_/)
  })

  it("streams every event in order, pings included", async () => {
    await using fake = await FakeUpstream.start()
    fake.always({ text: ["Good", " day"], usage: { input: 9, cached: 4, output: 2 }, delivery: { pings: 1 } })
    const types: Array<string> = []
    for await (const event of await client(fake).messages.create({ ...hello, stream: true })) types.push(event.type)
    assert.deepStrictEqual(types, [
      "message_start",
      "content_block_start",
      "content_block_delta",
      "content_block_delta",
      "content_block_stop",
      "message_delta",
      "message_stop",
    ])
    const stream = client(fake).messages.stream(hello)
    const texts: Array<string> = []
    stream.on("text", (text) => texts.push(text))
    const message = await stream.finalMessage()
    assert.deepStrictEqual(texts, ["Good", " day"])
    assert.deepStrictEqual(
      [message.usage.input_tokens, message.usage.cache_read_input_tokens, message.usage.output_tokens],
      [5, 4, 2],
    )
    assert.match(await post(fake, { stream: true }), /event: ping\ndata: \{"type":"ping"\}\n\n/)
  })

  it("calls several tools at once, arguments in pieces", async () => {
    await using fake = await FakeUpstream.start()
    const pieces = ['{"ci', 'ty":"Os', 'lo"}']
    fake.always({
      text: "Looking.",
      toolCalls: [
        { id: "toolu_a", name: "weather", arguments: pieces },
        { id: "toolu_b", name: "time", arguments: { city: "Lima" } },
      ],
    })
    const request = { ...hello, tools: [tool("weather"), tool("time")] }
    const calls = (message: Anthropic.Message) =>
      message.content.flatMap((block) => (block.type === "tool_use" ? [[block.id, block.name, block.input]] : []))
    const expected = [
      ["toolu_a", "weather", { city: "Oslo" }],
      ["toolu_b", "time", { city: "Lima" }],
    ]
    const whole = await client(fake).messages.create(request)
    assert.deepStrictEqual<unknown>(calls(whole), expected)
    assert.strictEqual(whole.stop_reason, "tool_use")

    const seen: Array<string> = []
    const stream = client(fake).messages.stream(request)
    stream.on("streamEvent", (event) => {
      if (event.type === "content_block_delta" && event.index === 1 && event.delta.type === "input_json_delta") {
        seen.push(event.delta.partial_json)
      }
    })
    assert.deepStrictEqual<unknown>(calls(await stream.finalMessage()), expected)
    assert.deepStrictEqual(seen, pieces)
  })

  it("parses a whole conversation: system, images, calls, results, options", async () => {
    await using fake = await FakeUpstream.start()
    await client(fake).messages.create({
      model: "claude-test",
      max_tokens: 50,
      system: "Be brief.",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "What is this?" },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0K" } },
            { type: "image", source: { type: "url", url: "https://example.org/a.png" } },
          ],
        },
        {
          role: "assistant",
          content: [{ type: "tool_use", id: "c1", name: "look", input: { city: "Oslo" } }],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "c1", content: "a cat" },
            { type: "text", text: "And?" },
          ],
        },
      ],
      tools: [tool("look")],
      tool_choice: { type: "tool", name: "look", disable_parallel_tool_use: true },
      stop_sequences: ["END"],
      output_config: { format: { type: "json_schema", schema: { type: "object" } } },
    })
    const asked = fake.requests[0]?.asked
    assert.strictEqual(asked?.key, "sk-ant-test")
    assert.strictEqual(asked?.system, "Be brief.")
    assert.deepStrictEqual(asked?.turns, [
      { role: "user", text: "What is this?" },
      { role: "assistant", text: "" },
      { role: "tool", text: "a cat" },
      { role: "user", text: "And?" },
    ])
    assert.deepStrictEqual(
      asked?.tools.map(({ name }) => name),
      ["look"],
    )
    assert.deepStrictEqual(asked?.stop, ["END"])
    assert.deepStrictEqual(asked?.json, { type: "object" })
  })

  it("ends for every reason, and thinks first", async () => {
    await using fake = await FakeUpstream.start()
    fake.script(
      { text: "cut", finish: "length" },
      { text: "one STOP two" },
      { refusal: "No." },
      { text: "full", finish: "context" },
    )
    const create = (extra = {}) => client(fake).messages.create({ ...hello, ...extra })
    assert.strictEqual((await create()).stop_reason, "max_tokens")
    const stopped = await create({ stop_sequences: ["never", "STOP"] })
    assert.deepStrictEqual([stopped.stop_reason, stopped.stop_sequence], ["stop_sequence", "STOP"])
    assert.deepStrictEqual<unknown>(stopped.content[0], { type: "text", text: "one ", citations: null })
    fake.when({ stream: true }).script({ text: ["one S", "TOP", " two"] })
    const deltas: Array<string> = []
    const streamed = client(fake).messages.stream({ ...hello, stop_sequences: ["STOP"] })
    streamed.on("text", (text) => deltas.push(text))
    assert.strictEqual((await streamed.finalMessage()).stop_sequence, "STOP")
    assert.deepStrictEqual(deltas, ["one "])
    const refused = await create()
    assert.deepStrictEqual([refused.stop_reason, refused.stop_details?.explanation], ["refusal", "No."])
    assert.strictEqual((await create()).stop_reason, "model_context_window_exceeded")

    fake.always({ thinking: "Hm.", text: "Hi" })
    const thought = await client(fake).messages.stream(hello).finalMessage()
    assert.deepStrictEqual(
      thought.content.map((block) => (block.type === "thinking" ? block.thinking : block.type)),
      ["Hm.", "text"],
    )
  })

  it.each([
    ["rateLimited", RateLimitError, 429, "rate_limit_error"],
    ["overloaded", InternalServerError, 529, "overloaded_error"],
    ["serverError", InternalServerError, 500, "api_error"],
    ["unauthorized", AuthenticationError, 401, "authentication_error"],
    ["forbidden", PermissionDeniedError, 403, "permission_error"],
    ["contextTooLong", BadRequestError, 400, "invalid_request_error"],
    ["contentFiltered", BadRequestError, 400, "invalid_request_error"],
    ["invalidRequest", BadRequestError, 400, "invalid_request_error"],
  ] as const)("%s is the SDK's %o", async (name, type, status, kind) => {
    await using fake = await FakeUpstream.start()
    fake.script(fault[name]({ message: "as scripted", retryAfter: 7 }))
    const error = await thrown(client(fake).messages.create({ ...hello, stream: true }))
    assert.instanceOf(error, type)
    assert.deepStrictEqual([error.status, error.type, error.apiMessage], [status, kind, "as scripted"])
    assert.strictEqual(error.headers?.get("retry-after"), "7")
  })

  it("reports an error within a stream", async () => {
    await using fake = await FakeUpstream.start()
    fake.script({ text: "one two", delivery: { breaks: { after: 1, how: "error" } } })
    const error = await thrown(client(fake).messages.stream(hello).finalMessage())
    assert.instanceOf(error, APIError)
    assert.strictEqual(error.type, "overloaded_error")
  })

  it("refuses requests that Anthropic refuses", async () => {
    await using fake = await FakeUpstream.start({ keys: ["k"] })
    const result = { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "x" }] }
    const use = { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "look", input: {} }] }
    const user = hello.messages[0]
    assert.match(await post(fake, {}, { "x-api-key": "" }), /^401 .*x-api-key header is required/)
    assert.match(await post(fake, {}, { "x-api-key": "other" }), /^401 .*authentication_error/)
    assert.match(await post(fake, {}, { "anthropic-version": "2020-01-01" }), /^400 .*anthropic-version/)
    assert.match(await post(fake, { max_tokens: undefined }), /^400 .*max_tokens/)
    assert.match(await post(fake, { n: 2 }), /^400 .*\bn\b/)
    assert.match(await post(fake, { messages: [user, use, user] }), /^400 .*without `tool_result` blocks.*c1/)
    assert.match(await post(fake, { messages: [user, use] }), /^400 .*without `tool_result` blocks.*c1/)
    assert.match(await post(fake, { messages: [user, result] }), /^400 .*unexpected `tool_use_id`.*c1/)
    assert.match(await post(fake, { messages: [{ role: "user", content: "" }] }), /^400/)
    assert.match(await post(fake, { messages: [{ role: "user", content: " \n" }] }), /^400/)
    assert.match(await post(fake, { messages: [{ role: "assistant", content: "Hi" }] }), /^400 .*must use the/)
    assert.match(await post(fake, { messages: [{ role: "system", content: "Hi" }, user] }), /^400 .*must use the/)
    assert.match(await post(fake, { messages: [user, { role: "assistant", content: "Hi " }] }), /^400 .*whitespace/)
    assert.match(await post(fake, { tool_choice: { type: "any" } }), /^400 .*while providing tools/)
    assert.match(await post(fake, { tools: [{ name: "a b", input_schema: { type: "object" } }] }), /^400 .*tools/)
    assert.match(await post(fake, { tools: [{ name: "a", input_schema: {} }] }), /^400 .*input_schema/)
    assert.match(await post(fake, { temperature: 1.5 }), /^400 .*temperature/)
    assert.match(await post(fake, { temperature: 0.5 }, { "anthropic-version": "2026-10-21" }), /^400 .*temperature/)
    assert.match(await post(fake, { stop_sequences: ["\n"] }), /^400 .*stop_sequences/)
    assert.isTrue(fake.requests.every((request) => request.refused !== undefined))
    assert.match(await post(fake, { temperature: 0.5 }), /^200/)
    assert.match(await post(fake, { messages: [user, use, result] }), /^200/)
  })
})
