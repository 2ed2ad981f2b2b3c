/** The fake upstream works with OpenAI's SDK. */
import { assert, describe, it } from "@effect/vitest"
import OpenAI, {
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  PermissionDeniedError,
  RateLimitError,
} from "openai"
import { type Fake, FakeUpstream, fault } from "../support/FakeUpstream.ts"

const client = (fake: Fake): OpenAI => new OpenAI({ apiKey: "sk-test", baseURL: fake.openAi, maxRetries: 0 })

const hello = { model: "gpt-test", messages: [{ role: "user" as const, content: "Hello" }] }

const tool = (name: string) => ({
  type: "function" as const,
  function: { name, parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } },
})

const thrown = async (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => assert.fail("the call succeeded"),
    (error: unknown) => error,
  )

describe("FakeUpstream as OpenAI", () => {
  it("answers whole, with usage", async () => {
    await using fake = await FakeUpstream.start()
    fake.script({ text: "Good day", usage: { input: 20, cached: 12, output: 7, reasoning: 4 } })
    const completion = await client(fake).chat.completions.create(hello)
    assert.strictEqual(completion.object, "chat.completion")
    assert.strictEqual(completion.model, "gpt-test")
    assert.deepStrictEqual(completion.choices[0]?.message.content, "Good day")
    assert.strictEqual(completion.choices[0]?.finish_reason, "stop")
    assert.strictEqual(completion.usage?.prompt_tokens, 20)
    assert.strictEqual(completion.usage?.completion_tokens, 7)
    assert.strictEqual(completion.usage?.total_tokens, 27)
    assert.strictEqual(completion.usage?.prompt_tokens_details?.cached_tokens, 12)
    assert.strictEqual(completion.usage?.completion_tokens_details?.reasoning_tokens, 4)
    assert.match(completion._request_id ?? "", /^req_/)
  })

  it("streams scripted chunks, with usage last and only if requested", async () => {
    await using fake = await FakeUpstream.start()
    fake.always({ text: ["Good", " ", "day"], usage: { input: 3, output: 2 } })
    const texts: Array<string> = []
    const usages: Array<number> = []
    const stream = await client(fake).chat.completions.create({
      ...hello,
      stream: true,
      stream_options: { include_usage: true },
    })
    for await (const chunk of stream) {
      texts.push(chunk.choices[0]?.delta.content ?? "")
      if (chunk.usage != null) {
        assert.lengthOf(chunk.choices, 0)
        usages.push(chunk.usage.total_tokens)
      }
    }
    assert.deepStrictEqual(
      texts.filter((text) => text !== ""),
      ["Good", " ", "day"],
    )
    assert.deepStrictEqual(usages, [5])
    for await (const chunk of await client(fake).chat.completions.create({ ...hello, stream: true })) {
      assert.notProperty(chunk, "usage")
    }
  })

  it("calls several tools at once, arguments in pieces", async () => {
    await using fake = await FakeUpstream.start()
    const pieces = ['{"ci', 'ty":"Os', 'lo"}']
    fake.always({
      text: "Looking.",
      toolCalls: [
        { id: "call_a", name: "weather", arguments: pieces },
        { id: "call_b", name: "time", arguments: { city: "Lima" } },
      ],
    })
    const request = { ...hello, tools: [tool("weather"), tool("time")] }
    const expected = [
      { id: "call_a", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } },
      { id: "call_b", type: "function", function: { name: "time", arguments: '{"city":"Lima"}' } },
    ]
    const whole = await client(fake).chat.completions.create(request)
    assert.deepStrictEqual<unknown>(whole.choices[0]?.message.tool_calls, expected)
    assert.strictEqual(whole.choices[0]?.finish_reason, "tool_calls")

    const stream = client(fake).chat.completions.stream(request)
    const seen: Array<string> = []
    stream.on("tool_calls.function.arguments.delta", ({ arguments_delta, index }) => {
      if (index === 0) seen.push(arguments_delta)
    })
    const message = await stream.finalMessage()
    assert.deepStrictEqual(
      message.tool_calls?.map((call) => (call.type === "function" ? [call.id, call.function.arguments] : call)),
      expected.map((call) => [call.id, call.function.arguments]),
    )
    assert.deepStrictEqual(
      seen.filter((piece) => piece !== ""),
      pieces,
    )
  })

  it("parses a whole conversation: system, images, calls, results, options", async () => {
    await using fake = await FakeUpstream.start()
    await client(fake).chat.completions.create({
      model: "gpt-test",
      messages: [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "text", text: "What is this?" },
            { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0K" } },
            { type: "image_url", image_url: { url: "https://example.org/a.png" } },
          ],
        },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c1", type: "function", function: { name: "look", arguments: '{"city":"Oslo"}' } }],
        },
        { role: "tool", tool_call_id: "c1", content: "a cat" },
      ],
      tools: [tool("look")],
      tool_choice: { type: "function", function: { name: "look" } },
      parallel_tool_calls: false,
      max_completion_tokens: 50,
      temperature: 0.5,
      stop: ["END"],
      response_format: { type: "json_schema", json_schema: { name: "cat", schema: { type: "object" } } },
    })
    const asked = fake.requests[0]?.asked
    assert.strictEqual(asked?.key, "sk-test")
    assert.strictEqual(asked?.system, "Be brief.")
    assert.deepStrictEqual(asked?.turns, [
      { role: "user", text: "What is this?" },
      { role: "assistant", text: "" },
      { role: "tool", text: "a cat" },
    ])
    assert.deepStrictEqual(
      asked?.tools.map(({ name }) => name),
      ["look"],
    )
    assert.deepStrictEqual(asked?.stop, ["END"])
    assert.deepStrictEqual(asked?.json, { type: "object" })
  })

  it("parses structured output", async () => {
    await using fake = await FakeUpstream.start()
    fake.script({ text: '{"verdict":"upheld"}' })
    const completion = await client(fake).chat.completions.parse({
      ...hello,
      response_format: {
        type: "json_schema",
        json_schema: { name: "verdict", strict: true, schema: { type: "object" } },
      },
    })
    assert.deepStrictEqual<unknown>(completion.choices[0]?.message.parsed, { verdict: "upheld" })
  })

  it("ends for every reason", async () => {
    await using fake = await FakeUpstream.start()
    fake.script({ text: "cut", finish: "length" }, { text: "", finish: "content_filter" }, { text: "one STOP two" })
    const finish = async (extra = {}) => (await client(fake).chat.completions.create({ ...hello, ...extra })).choices[0]
    assert.strictEqual((await finish())?.finish_reason, "length")
    assert.strictEqual((await finish())?.finish_reason, "content_filter")
    const stopped = await finish({ stop: "STOP" })
    assert.deepStrictEqual([stopped?.finish_reason, stopped?.message.content], ["stop", "one "])
  })

  it("refuses, whole and streamed", async () => {
    await using fake = await FakeUpstream.start()
    fake.always({ refusal: "I cannot help with that." })
    const whole = await client(fake).chat.completions.create(hello)
    assert.deepStrictEqual(
      [whole.choices[0]?.message.refusal, whole.choices[0]?.message.content],
      ["I cannot help with that.", null],
    )
    const streamed = await client(fake).chat.completions.stream(hello).finalMessage()
    assert.strictEqual(streamed.refusal, "I cannot help with that.")
  })

  it("gives several choices at once", async () => {
    await using fake = await FakeUpstream.start()
    fake.always({ text: "Hi" })
    const whole = await client(fake).chat.completions.create({ ...hello, n: 2 })
    assert.deepStrictEqual(
      whole.choices.map((choice) => [choice.index, choice.message.content]),
      [
        [0, "Hi"],
        [1, "Hi"],
      ],
    )
    const streamed = await client(fake)
      .chat.completions.stream({ ...hello, n: 2 })
      .finalChatCompletion()
    assert.deepStrictEqual(
      streamed.choices.map((choice) => choice.message.content),
      ["Hi", "Hi"],
    )
  })

  it.each([
    ["rateLimited", RateLimitError, 429, "rate_limit_exceeded"],
    ["overloaded", InternalServerError, 503, null],
    ["serverError", InternalServerError, 500, null],
    ["unauthorized", AuthenticationError, 401, "invalid_api_key"],
    ["forbidden", PermissionDeniedError, 403, null],
    ["contextTooLong", BadRequestError, 400, "context_length_exceeded"],
    ["contentFiltered", BadRequestError, 400, "content_filter"],
    ["invalidRequest", BadRequestError, 400, null],
  ] as const)("%s is the SDK's %o", async (name, type, status, code) => {
    await using fake = await FakeUpstream.start()
    fake.script(fault[name]({ message: "as scripted", retryAfter: 7 }))
    const error = await thrown(client(fake).chat.completions.create({ ...hello, stream: true }))
    assert.instanceOf(error, type)
    assert.strictEqual(error.status, status)
    assert.strictEqual(error.code, code)
    assert.strictEqual(error.headers?.get("retry-after"), "7")
    assert.include(error.message, "as scripted")
  })

  it("reports an error within a stream", async () => {
    await using fake = await FakeUpstream.start()
    fake.script({ text: "one two", delivery: { breaks: { after: 1, how: "error" } } })
    const error = await thrown(client(fake).chat.completions.stream(hello).finalMessage())
    assert.instanceOf(error, APIError)
    assert.include(error.message, "The server had an error")
  })

  it("refuses requests that OpenAI refuses", async () => {
    await using fake = await FakeUpstream.start({ keys: ["sk-test"] })
    const create = async (request: object, key = "sk-test") => {
      const openai = new OpenAI({ apiKey: key, baseURL: fake.openAi, maxRetries: 0 })
      // Sends requests that the types forbid.
      const error = await thrown(openai.chat.completions.create({ ...hello, ...request } as typeof hello))
      assert.instanceOf(error, APIError)
      return [error.status, error.message]
    }
    const result = { role: "tool", tool_call_id: "c1", content: "x" }
    const call = { id: "c1", type: "function", function: { name: "look", arguments: "{}" } }
    const assistant = { role: "assistant", content: null, tool_calls: [call] }
    const user = hello.messages[0]
    assert.strictEqual((await create({}, "sk-other"))[0], 401)
    assert.match(String((await create({ messages: [] }))[1]), /messages/)
    assert.match(String((await create({ messages: [user, result] }))[1]), /must be a response to/)
    assert.match(String((await create({ messages: [user, assistant, user] }))[1]), /did not have response.*c1/)
    assert.match(String((await create({ tool_choice: "auto" }))[1]), /only allowed when 'tools'/)
    assert.match(String((await create({ stream_options: { include_usage: true } }))[1]), /only allowed when 'stream'/)
    assert.match(String((await create({ max_tokens: 1, max_completion_tokens: 1 }))[1]), /at the same time/)
    assert.match(String((await create({ response_format: { type: "json_object" } }))[1]), /the word 'json'/)
    const image = { type: "image_url", image_url: { url: "https://example.org/a.png" } }
    assert.match(String((await create({ messages: [{ role: "system", content: [image] }] }))[1]), /messages/)
    assert.match(String((await create({ temperature: 3 }))[1]), /temperature/)
    assert.match(String((await create({ tools: [tool("no spaces")] }))[1]), /tools/)
    assert.isTrue(fake.requests.every((request) => request.refused !== undefined && request.asked === undefined))
  })
})
